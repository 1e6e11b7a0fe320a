"""At which addresses our servers listen."""

import pytest

from fleetqueue.kube.bind_hosts import POD_ADDRESS, bind_host
from fleetqueue.runtime import agnhost


@pytest.mark.parametrize(
    ("pod", "host", "found"),
    [
        ("", "0.0.0.0", "0.0.0.0"),
        ("127.7.0.1", "0.0.0.0", "127.7.0.1"),
        ("127.7.0.1", "::", "127.7.0.1"),
        ("127.7.0.1", "", "127.7.0.1"),
        ("127.7.0.1", "127.0.0.1", "127.0.0.1"),
    ],
)
def test_all_addresses_of_a_pod_are_its_own(
    pod: str, host: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(POD_ADDRESS, raising=False)
    if pod:
        monkeypatch.setenv(POD_ADDRESS, pod)
    assert bind_host(host) == found


def test_the_variable_is_the_one_that_pods_get() -> None:
    assert POD_ADDRESS == agnhost.POD_ADDRESS
