"""Answers of API servers beside ours."""

from collections.abc import AsyncIterator

import pytest

from fleetqueue.apiserver.aggregation.calling import DOCUMENT_BYTES_MAX, Incoming
from fleetqueue.apiserver.reaching import CallFailed

MEBIBYTE = bytes(1024 * 1024)


async def test_a_document_without_end_is_not_kept() -> None:
    given = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal given
        while given < 2 * DOCUMENT_BYTES_MAX:
            given += len(MEBIBYTE)
            yield MEBIBYTE

    with pytest.raises(CallFailed, match="the answer is longer than"):
        await Incoming(200, [], chunks=chunks()).whole()
    assert given == DOCUMENT_BYTES_MAX + len(MEBIBYTE)
