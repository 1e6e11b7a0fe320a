"""The variables of a container: every source, their order, and what is said when one is missing."""

import base64
from typing import Any

import pytest

from fleetqueue.runtime.downward import Whereabouts, quote
from fleetqueue.runtime.environment import ConfigError, Sources, compose

POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "uid": "u-1",
        "labels": {"app": "x", "a.b/c": "d"},
        "annotations": {"batch.kubernetes.io/job-completion-index": "3"},
    },
    "spec": {
        "nodeName": "node-1",
        "serviceAccountName": "robot",
        "containers": [
            {"name": "other", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}},
        ],
    },
}
CONFIG_MAPS = {"cm": {"data": {"one": "1", "two": "2"}, "binaryData": {"bin": "AAA="}}}
SECRETS = {"s": {"data": {"key": base64.b64encode(b"hidden").decode()}}}


def service(name: str, address: str, *ports: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"clusterIP": address, "ports": list(ports)},
    }


API = service("kubernetes", "127.1.255.1", {"name": "https", "port": 443, "protocol": "TCP"})
SOURCES = Sources(
    config_map=CONFIG_MAPS.get,
    secret=SECRETS.get,
    services=[
        service("my-db", "127.1.255.9", {"name": "sql", "port": 5432}, {"name": "m-x", "port": 9}),
        service("headless", "None", {"port": 1}),
    ],
    api_service=API,
    where=Whereabouts(
        ["127.1.0.5"], ["10.0.0.1"], {"cpu": "8", "memory": "16Gi", "ephemeral-storage": "1Ti"}
    ),
)


def variables(container: dict[str, Any], pod: dict[str, Any] = POD) -> dict[str, str]:
    return compose(pod, {"name": "c", **container}, {"PATH": "/bin"}, "host-1", SOURCES).variables


def one(value_from: dict[str, Any], **container: Any) -> str | None:
    entry = {"name": "X", "valueFrom": value_from}
    return variables({"env": [entry], **container}).get("X")


# fmt: off
FIELDS = {
    "metadata.name": "p",
    "metadata.namespace": "ns",
    "metadata.uid": "u-1",
    "metadata.labels['app']": "x",
    "metadata.labels['a.b/c']": "d",
    "metadata.labels['none']": "",
    "metadata.annotations['batch.kubernetes.io/job-completion-index']": "3",
    "metadata.labels": 'a.b/c="d"\napp="x"',
    "spec.nodeName": "node-1",
    "spec.serviceAccountName": "robot",
    "status.hostIP": "10.0.0.1",
    "status.hostIPs": "10.0.0.1",
    "status.podIP": "127.1.0.5",
    "status.podIPs": "127.1.0.5",
}
OWN = {"limits": {"cpu": "250m"}, "requests": {"cpu": "100m", "memory": "100Mi"}}
RESOURCES = {  #                           resource                container  divisor  value
    "rounded up to whole cores":          ("limits.cpu",              "",      None,   "1"),
    "in thousandths":                     ("limits.cpu",              "",      "1m",   "250"),
    "a zero divisor counts as one":       ("limits.cpu",              "",      "0",    "1"),
    "without a limit: what the node has": ("limits.memory",           "",      "1Gi",  "16"),
    "storage of the node":                ("limits.ephemeral-storage", "",     "1Gi",  "1024"),
    "a request":                          ("requests.memory",         "",      "1Mi",  "100"),
    "a request nobody made":              ("requests.ephemeral-storage", "",   None,   "0"),
    "of another container":               ("limits.cpu",              "other", None,   "2"),
    "huge pages are never defaulted":     ("limits.hugepages-2Mi",    "",      None,   "0"),
}
BAD = {
    "no such config map":
        ({"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "no", "key": "k"}}}]},
         'configmap "no" not found'),
    "no such key":
        ({"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}}]},
         "couldn't find key k in ConfigMap ns/cm"),
    "binary data is no variable":
        ({"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "bin"}}}]},
         "couldn't find key bin in ConfigMap ns/cm"),
    "no such secret":
        ({"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "no", "key": "k"}}}]},
         'secret "no" not found'),
    "no such key of a secret":
        ({"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
         "couldn't find key k in Secret ns/s"),
    "all of no config map":
        ({"envFrom": [{"configMapRef": {"name": "no"}}]}, 'configmap "no" not found'),
    "all of no secret":
        ({"envFrom": [{"secretRef": {"name": "no"}}]}, 'secret "no" not found'),
    "no such container":
        ({"env": [{"name": "X", "valueFrom": {"resourceFieldRef":
            {"containerName": "z", "resource": "limits.cpu"}}}]}, "container z not found"),
    "no such field":
        ({"env": [{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}}]},
         "unsupported fieldPath: status.phase"),
}
# fmt: on


@pytest.mark.rule("jobs C.3")
@pytest.mark.parametrize(("path", "value"), FIELDS.items(), ids=FIELDS.keys())
def test_fields(path: str, value: str) -> None:
    assert one({"fieldRef": {"fieldPath": path}}) == value


@pytest.mark.rule("jobs C.3")
@pytest.mark.parametrize(
    ("resource", "container", "divisor", "value"), RESOURCES.values(), ids=RESOURCES.keys()
)
def test_resources(resource: str, container: str, divisor: str | None, value: str) -> None:
    reference = {"resource": resource, "containerName": container, "divisor": divisor}
    assert one({"resourceFieldRef": reference}, resources=OWN) == value


@pytest.mark.rule("jobs C.3")
@pytest.mark.parametrize(("container", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_missing_is_said_in_known_words(container: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        variables(container)
    assert (error.value.reason, error.value.message) == ("CreateContainerConfigError", message)


@pytest.mark.rule("jobs C.3")
def test_later_sources_win() -> None:
    found = variables(
        {
            "envFrom": [
                {"configMapRef": {"name": "cm"}},
                {"prefix": "P_", "configMapRef": {"name": "cm"}},
                {"secretRef": {"name": "s"}},
                {"configMapRef": {"name": "gone", "optional": True}},
            ],
            "env": [
                {"name": "one", "value": "own"},
                {"name": "PATH", "value": "/own"},
                {"name": "MY_DB_PORT", "value": "mine"},
                {"name": "EMPTY", "value": ""},
                {"name": "UNSET"},
            ],
        }
    )
    assert (found["one"], found["two"], found["P_one"], found["key"]) == ("own", "2", "1", "hidden")
    assert (found["PATH"], found["MY_DB_PORT"], found["HOSTNAME"]) == ("/own", "mine", "host-1")
    assert found["EMPTY"] == found["UNSET"] == ""


@pytest.mark.rule("jobs C.3")
def test_a_value_refers_to_what_comes_before_it() -> None:
    entries = [
        ("EARLY", "$(LATE)"),
        ("LATE", "2"),
        ("ALL", "$(LATE) $(one) $(MY_DB_SERVICE_HOST) $(PATH) $(HOSTNAME)"),
    ]
    found = variables(
        {
            "envFrom": [{"configMapRef": {"name": "cm"}}],
            "env": [{"name": name, "value": value} for name, value in entries],
        }
    )
    assert found["EARLY"] == "$(LATE)"
    assert found["ALL"] == "2 1 127.1.255.9 $(PATH) $(HOSTNAME)"


def test_a_missing_optional_source_leaves_a_variable_unset() -> None:
    assert one({"configMapKeyRef": {"name": "no", "key": "k", "optional": True}}) is None
    assert one({"configMapKeyRef": {"name": "cm", "key": "k", "optional": True}}) is None
    assert one({"secretKeyRef": {"name": "s", "key": "k", "optional": True}}) is None
    assert one({"secretKeyRef": {"name": "s", "key": "key"}}) == "hidden"


@pytest.mark.rule("jobs C.3")
def test_services_are_told_in_variables() -> None:
    found = {k: v for k, v in variables({}).items() if k not in ("PATH", "HOSTNAME")}
    assert found == {
        "KUBERNETES_SERVICE_HOST": "127.1.255.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "KUBERNETES_SERVICE_PORT_HTTPS": "443",
        "KUBERNETES_PORT": "tcp://127.1.255.1:443",
        "KUBERNETES_PORT_443_TCP": "tcp://127.1.255.1:443",
        "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
        "KUBERNETES_PORT_443_TCP_PORT": "443",
        "KUBERNETES_PORT_443_TCP_ADDR": "127.1.255.1",
        "MY_DB_SERVICE_HOST": "127.1.255.9",
        "MY_DB_SERVICE_PORT": "5432",
        "MY_DB_SERVICE_PORT_SQL": "5432",
        "MY_DB_SERVICE_PORT_M_X": "9",
        "MY_DB_PORT": "tcp://127.1.255.9:5432",
        "MY_DB_PORT_5432_TCP": "tcp://127.1.255.9:5432",
        "MY_DB_PORT_5432_TCP_PROTO": "tcp",
        "MY_DB_PORT_5432_TCP_PORT": "5432",
        "MY_DB_PORT_5432_TCP_ADDR": "127.1.255.9",
        "MY_DB_PORT_9_TCP": "tcp://127.1.255.9:9",
        "MY_DB_PORT_9_TCP_PROTO": "tcp",
        "MY_DB_PORT_9_TCP_PORT": "9",
        "MY_DB_PORT_9_TCP_ADDR": "127.1.255.9",
    }


def test_service_links_can_be_turned_off_but_not_the_apis() -> None:
    pod = {**POD, "spec": {**POD["spec"], "enableServiceLinks": False}}
    found = variables({}, pod)
    assert "MY_DB_SERVICE_HOST" not in found
    assert found["KUBERNETES_SERVICE_HOST"] == "127.1.255.1"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [('a"b', r'"a\"b"'), ("a\nb\t", r'"a\nb\t"'), ("\x01", r'"\x01"'), ("é", '"é"')],
)
def test_values_of_maps_are_quoted_as_go_does(text: str, quoted: str) -> None:
    assert quote(text) == quoted
