"""Sequences of requests that hypothesis makes up, played on both servers and compared."""

import itertools
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from conformance.cases import Case, Step
from conformance.normal import difference
from conformance.play import Player

SEQUENCES = 1000
NAMES = ("a", "b")
MANAGERS = ("one", "two")
_numbers = itertools.count(1)

words = st.sampled_from(["", "x", "z", "1"])
labels = st.dictionaries(st.sampled_from(["app", "tier"]), words, max_size=2)
finalizers = st.lists(st.sampled_from(["e.example/a", "e.example/b"]), max_size=2, unique=True)


def metadata(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Mostly just the name; sometimes labels, annotations or finalizers."""
    extra = st.fixed_dictionaries(
        {}, optional={"labels": labels, "annotations": labels, "finalizers": finalizers}
    )
    return st.one_of(st.just({}), extra).map(lambda more: {"name": name, **more})


config_maps = st.fixed_dictionaries(
    {},
    optional={
        "data": st.dictionaries(st.sampled_from(["k", "l", "m"]), words, max_size=3),
        "immutable": st.booleans(),
    },
)
ports = st.lists(
    st.fixed_dictionaries(
        {"port": st.sampled_from([80, 81])},
        optional={"name": st.sampled_from(["p", "q"]), "protocol": st.sampled_from(["TCP", "UDP"])},
    ),
    min_size=1,
    max_size=2,
)
services = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {"type": st.just("ExternalName"), "externalName": st.sampled_from(["a.b", "c.d"])},
            optional={"ports": ports, "selector": labels},
        )
    }
)
roles = st.fixed_dictionaries(
    {},
    optional={
        "rules": st.lists(
            st.fixed_dictionaries(
                {
                    "apiGroups": st.just([""]),
                    "resources": st.sampled_from([["pods"], ["pods", "secrets"]]),
                    "verbs": st.sampled_from([["get"], ["list", "get"]]),
                }
            ),
            max_size=2,
        )
    },
)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["p", "q"]), "image": st.sampled_from(["i", "j"])},
        optional={
            "env": st.lists(
                st.fixed_dictionaries(
                    {"name": st.sampled_from(["E", "F"])}, optional={"value": words}
                ),
                max_size=2,
                unique_by=lambda item: item["name"],
            ),
            "ports": st.lists(
                st.fixed_dictionaries(
                    {"containerPort": st.sampled_from([80, 81])},
                    optional={"protocol": st.sampled_from(["TCP", "UDP"])},
                ),
                max_size=2,
            ),
        },
    ),
    max_size=2,
)
deployments = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {
                "selector": st.just({"matchLabels": {"a": "b"}}),
                "template": st.fixed_dictionaries(
                    {
                        "metadata": st.just({"labels": {"a": "b"}}),
                        "spec": st.fixed_dictionaries({"containers": containers}),
                    }
                ),
            },
            optional={"replicas": st.integers(0, 2), "paused": st.booleans()},
        )
    }
)
KINDS = {
    "/apis/apps/v1/namespaces/{ns}/deployments": ("apps/v1", "Deployment", deployments),
    "/api/v1/namespaces/{ns}/configmaps": ("v1", "ConfigMap", config_maps),
    "/api/v1/namespaces/{ns}/services": ("v1", "Service", services),
    "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles": (
        *("rbac.authorization.k8s.io/v1", "Role", roles),
    ),
}
PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json")
APPLY = "application/apply-patch+yaml"


@st.composite
def steps(draw: st.DrawFn) -> Step:
    path, (version, kind, bodies) = draw(st.sampled_from(sorted(KINDS.items(), key=str)))
    name = draw(st.sampled_from(NAMES))
    verb = draw(st.sampled_from(["create", "update", "patch", "apply", "apply", "delete", "read"]))
    one = f"{path}/{name}"
    query = f"?fieldManager={draw(st.sampled_from(MANAGERS))}"
    if draw(st.integers(0, 9)) == 0:
        query += "&dryRun=All"
    if verb == "read":
        return Step("GET", draw(st.sampled_from([one, _list_of(path)])))
    if verb == "delete":
        return Step("DELETE", one)
    body = {"metadata": draw(metadata(name)), **draw(bodies)}
    if verb == "create":
        return Step("POST", path + query, body)
    if verb == "update":
        return Step("PUT", one + query, body)
    if verb == "patch":
        if draw(st.booleans()):
            _forget_something(draw, body)
        return Step(
            "PATCH", one + query, body, headers={"Content-Type": draw(st.sampled_from(PATCHES))}
        )
    if draw(st.booleans()):
        query += "&force=true"
    typed = {"apiVersion": version, "kind": kind, **body}
    return Step("PATCH", one + query, typed, headers={"Content-Type": APPLY})


def _forget_something(draw: st.DrawFn, body: dict[str, Any]) -> None:
    """A null somewhere in a patch takes away what is there."""
    part = body
    while True:
        name = draw(st.sampled_from(sorted(part)))
        below = part[name]
        if not isinstance(below, dict) or not below or draw(st.booleans()):
            part[name] = None
            return
        part = below


def _list_of(path: str) -> str:
    """What the server itself puts into a namespace is left out."""
    return f"{path}?fieldSelector=metadata.name!%3Dkube-root-ca.crt"


@settings(
    max_examples=SEQUENCES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(sequence=st.lists(steps(), min_size=2, max_size=9))
def test_any_sequence_of_requests_is_answered_alike(
    sequence: list[Step], reference: Player, ours: Player
) -> None:
    case = Case("a sequence", tuple(sequence))
    name = f"sequence-{next(_numbers)}"
    expected, found = (player.play(case, name, is_lasting=True) for player in (reference, ours))
    for number, (theirs, own) in enumerate(zip(expected, found, strict=True)):
        told = "\n".join(f"{s.method} {s.path} {s.body}" for s in case.steps[: number + 1])
        assert own == theirs, f"{told}\n{difference(theirs, own)}"
