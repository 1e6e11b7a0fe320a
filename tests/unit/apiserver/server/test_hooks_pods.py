"""What the server's own hooks give to pods and nodes, and what they refuse."""

from typing import Any

from .conftest import Api
from .sharing import home, on_one_loop, shared

__all__ = ["home", "shared"]

pytestmark = on_one_loop

Object = dict[str, Any]

MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def named(name: str, **content: Any) -> Object:
    return {"metadata": {"name": name}, **content}


def pod(name: str = "p", resources: Object | None = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": resources or {}}
    return named(name, spec={"containers": [container], **spec})


async def test_a_pod_gets_an_account_a_token_a_priority_and_tolerations(
    shared: Api, home: str
) -> None:
    spec = (await shared.post(f"{home}/pods", pod()))["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert [next(iter(source)) for source in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert mount == {"name": volume["name"], "readOnly": True, "mountPath": MOUNT}
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [(t["key"], t["tolerationSeconds"]) for t in spec["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]


async def test_a_pod_can_do_without_a_token(shared: Api, home: str) -> None:
    account = named("quiet", automountServiceAccountToken=False, imagePullSecrets=[{"name": "x"}])
    await shared.post(f"{home}/serviceaccounts", account)
    spec = (await shared.post(f"{home}/pods", pod(serviceAccountName="quiet")))["spec"]
    assert "volumes" not in spec
    assert spec["imagePullSecrets"] == [{"name": "x"}]


async def test_a_pod_need_not_wait_for_the_account_of_its_new_namespace(
    shared: Api, home: str
) -> None:
    await shared.post("/api/v1/namespaces", named("fresh"))
    await shared.post("/api/v1/namespaces/fresh/pods", pod())
    assert shared.status == 201


async def test_a_pod_takes_the_default_priority_class(shared: Api, home: str) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    await shared.post(classes, named("usual", value=7, globalDefault=True))
    spec = (await shared.post(f"{home}/pods", pod()))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 7)
    answer = await shared.post(classes, named("other", value=8, globalDefault=True))
    assert answer["message"] == (
        'priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass usual is already '
        "marked as default. Only one default can exist"
    )
    await shared.delete(f"{classes}/usual")


async def test_a_pod_follows_its_runtime_class(shared: Api, home: str) -> None:
    runtime = named(
        "kata",
        handler="kata",
        overhead={"podFixed": {"cpu": "1"}},
        scheduling={"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]},
    )
    await shared.post("/apis/node.k8s.io/v1/runtimeclasses", runtime)
    spec = (await shared.post(f"{home}/pods", pod(runtimeClassName="kata")))["spec"]
    assert spec["overhead"] == {"cpu": "1"}
    assert spec["nodeSelector"] == {"a": "b"}
    assert {"operator": "Exists"} in spec["tolerations"]


LIMITS = named(
    "bounds",
    spec={
        "limits": [
            {
                "type": "Container",
                "max": {"cpu": "2"},
                "min": {"cpu": "100m"},
                "default": {"cpu": "1"},
                "defaultRequest": {"cpu": "500m"},
                "maxLimitRequestRatio": {"cpu": "3"},
            }
        ]
    },
)


async def test_a_limit_range_completes_containers_and_says_so(shared: Api, home: str) -> None:
    await shared.post(f"{home}/limitranges", LIMITS)
    made = await shared.post(f"{home}/pods", pod())
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1"},
        "requests": {"cpu": "500m"},
    }
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container c; "
        "cpu limit for container c"
    }


async def test_a_limit_range_bounds_containers(shared: Api, home: str) -> None:
    await shared.post(f"{home}/limitranges", LIMITS)
    greedy = pod(resources={"limits": {"cpu": "5"}, "requests": {"cpu": "50m"}})
    answer = await shared.post(f"{home}/pods", greedy)
    assert answer["message"] == (
        'pods "p" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, '
        "maximum cpu usage per Container is 2, but limit is 5, cpu max limit to request ratio per "
        "Container is 3, but provided ratio is 100.000000]"
    )


async def test_a_new_node_is_not_ready(shared: Api, home: str) -> None:
    node = await shared.post("/api/v1/nodes", named("n"))
    assert node["spec"]["taints"] == [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    ]
