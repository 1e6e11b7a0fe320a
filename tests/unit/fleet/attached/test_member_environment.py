"""Where an agent beside a foreign API server finds its hub."""

import base64

import pytest

from fleetqueue.errors import InvalidInput
from fleetqueue.fleet.attached.member import hub_from

pytestmark = pytest.mark.rule("kubefleet 10.3")
SAID = {
    "HUB_SERVER_URL": "https://hub",
    "MEMBER_CLUSTER_NAME": "east",
    "CONFIG_PATH": "/token",
    "IDENTITY_CERT": "/own.crt",
    "IDENTITY_KEY": "/own.key",
    "CA_BUNDLE": "/hub.crt",
}


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in SAID.items() if name not in names}


def test_a_token_and_a_bundle_are_read_from_their_files() -> None:
    found = hub_from(SAID)

    assert found is not None
    name, access = found
    assert (name, access.server, access.token_file) == ("east", "https://hub", "/token")
    assert access.authority is not None
    assert access.authority.file == "/hub.crt"
    assert access.certificate is None


def test_a_certificate_is_shown_where_that_is_wanted() -> None:
    found = hub_from(SAID, uses_certificate=True)

    assert found is not None
    _, access = found
    assert access.certificate is not None
    assert access.key is not None
    assert (access.certificate.file, access.key.file) == ("/own.crt", "/own.key")
    assert access.token_file == ""


def test_the_authority_may_be_said_in_base64() -> None:
    text = base64.b64encode(b"PEM").decode()
    found = hub_from({**without("CA_BUNDLE"), "HUB_CERTIFICATE_AUTHORITY": text})

    assert found is not None
    assert found[1].authority is not None
    assert found[1].authority.read() == b"PEM"


def test_whoever_believes_anybody_needs_no_authority() -> None:
    found = hub_from(SAID, is_insecure=True)

    assert found is not None
    assert found[1].is_insecure
    assert found[1].authority is None


def test_nothing_said_is_left_to_the_secret() -> None:
    assert hub_from({}) is None


@pytest.mark.parametrize(("environment", "certificate", "missing"), [
    (without("MEMBER_CLUSTER_NAME"), False, "MEMBER_CLUSTER_NAME"),
    (without("CONFIG_PATH"), False, "CONFIG_PATH"),
    (without("IDENTITY_KEY"), True, "IDENTITY_KEY"),
    ({**without("CA_BUNDLE"), "HUB_CERTIFICATE_AUTHORITY": "%"}, False, "base64"),
])  # fmt: skip
def test_what_is_missing_is_named(
    environment: dict[str, str], certificate: bool, missing: str
) -> None:
    with pytest.raises(InvalidInput, match=missing):
        hub_from(environment, uses_certificate=certificate)


def test_headers_for_whoever_stands_before_the_hub_go_with_every_call() -> None:
    found = hub_from({**SAID, "HUB_KUBE_HEADER": "X-Tenant: blue:1\r\nx-trace: yes\n"})

    assert found is not None
    assert found[1].headers == (("x-tenant", "blue:1"), ("x-trace", "yes"))


def test_a_header_without_a_value_is_a_mistake() -> None:
    with pytest.raises(InvalidInput, match="HUB_KUBE_HEADER"):
        hub_from({**SAID, "HUB_KUBE_HEADER": "blue"})
