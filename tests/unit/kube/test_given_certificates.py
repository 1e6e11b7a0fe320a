"""Certificates of somebody else: used as they are, replaced as they change, and never half."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleetqueue.errors import InvalidInput
from fleetqueue.kube import certificates
from fleetqueue.kube.certificates import Bundle
from fleetqueue.kube.given_certificates import LOOK_SECONDS, GivenCertificates

pytestmark = pytest.mark.rule("kueue 10.1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def bundle() -> Bundle:
    return certificates.make_bundle(["webhook.system.svc"], NOW)


def put(folder: Path, made: Bundle) -> None:
    (folder / "tls.crt").write_bytes(made.serving.certificate)
    (folder / "tls.key").write_bytes(made.serving.key)


async def test_what_lies_there_is_served(tmp_path: Path) -> None:
    made = bundle()
    put(tmp_path, made)
    given = GivenCertificates(tmp_path)

    assert (await given.prepare()).serving == made.serving
    await given.publish()
    assert given.bundle.serving == made.serving
    assert sorted(os.listdir(tmp_path)) == ["tls.crt", "tls.key"]


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key"])
async def test_nothing_is_made_where_something_is_missing(tmp_path: Path, missing: str) -> None:
    put(tmp_path, bundle())
    (tmp_path / missing).unlink()

    with pytest.raises(InvalidInput, match=f"{missing}.*internalCertManagement.enable is false"):
        await GivenCertificates(tmp_path).prepare()


async def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    put(tmp_path, bundle())
    (tmp_path / "tls.key").write_bytes(bundle().serving.key)

    with pytest.raises(InvalidInput, match="cannot be used"):
        await GivenCertificates(tmp_path).prepare()


async def test_a_new_pair_is_used_when_it_is_whole(tmp_path: Path) -> None:
    first, second, used = bundle(), bundle(), list[Bundle]()
    put(tmp_path, first)
    given = GivenCertificates(tmp_path)
    await given.prepare()
    keeping = asyncio.ensure_future(given.keep(used.append))

    (tmp_path / "tls.crt").write_bytes(second.serving.certificate)
    await asyncio.sleep(LOOK_SECONDS * 2.5)
    assert used == []
    assert given.bundle.serving == first.serving
    (tmp_path / "tls.key").write_bytes(second.serving.key)
    await asyncio.sleep(LOOK_SECONDS * 2)

    assert [each.serving for each in used] == [second.serving]
    assert given.bundle.serving == second.serving
    keeping.cancel()
