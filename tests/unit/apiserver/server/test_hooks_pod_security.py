"""Pod Security Standards, by the labels of a namespace."""

from typing import Any

from .conftest import Api
from .sharing import home, on_one_loop, shared

__all__ = ["home", "shared"]

pytestmark = on_one_loop

Object = dict[str, Any]

PREFIX = "pod-security.kubernetes.io/"
CAREFUL = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


async def label(api: Api, home: str, **labels: str) -> str:
    """Mark the namespace; the path of its pods."""
    marked = {PREFIX + mode.replace("_", "-"): level for mode, level in labels.items()}
    await api.patch(home, {"metadata": {"labels": marked}})
    return f"{home}/pods"


def pod(name: str = "p", context: Object | None = None, **spec: Any) -> Object:
    container: Object = {"name": "c", "image": "i", "securityContext": context or {}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def test_a_plain_pod_is_too_much_for_a_restricted_namespace(shared: Api, home: str) -> None:
    pods = await label(shared, home, enforce="restricted")
    answer = await shared.post(pods, pod())
    assert (shared.status, answer["message"]) == (
        403,
        'pods "p" is forbidden: violates PodSecurity "restricted:latest": '
        'allowPrivilegeEscalation != false (container "c" must set '
        'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" '
        'must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or '
        'container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or '
        'container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
        '"Localhost")',
    )
    await shared.post(pods, pod(context=CAREFUL))
    assert shared.status == 201


async def test_a_baseline_namespace_refuses_the_worst_and_warns_of_the_rest(
    shared: Api, home: str
) -> None:
    pods = await label(shared, home, enforce="baseline", enforce_version="v1.30", warn="restricted")
    volumes = [{"name": "v", "hostPath": {"path": "/"}}]
    bad = pod(context={"privileged": True}, hostNetwork=True, hostPID=True, volumes=volumes)
    answer = await shared.post(pods, bad)
    assert answer["message"] == (
        'pods "p" is forbidden: violates PodSecurity "baseline:v1.30": host namespaces '
        '(hostNetwork=true, hostPID=true), hostPath volumes (volume "v"), privileged (container '
        '"c" must not set securityContext.privileged=true)'
    )
    await shared.post(pods, pod())
    assert shared.status == 201
    assert shared.warnings[0].startswith('would violate PodSecurity "restricted:latest": allowPriv')


async def test_what_makes_pods_is_warned_and_not_refused(shared: Api, home: str) -> None:
    await label(shared, home, enforce="restricted")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployments = home.replace("/api/v1", "/apis/apps/v1") + "/deployments"
    await shared.post(deployments, {"metadata": {"name": "d"}, "spec": spec})
    assert shared.status == 201
    assert 'would violate PodSecurity "restricted:latest"' in shared.warnings[0]


async def test_a_namespace_that_becomes_stricter_names_the_pods_that_do_not_fit(
    shared: Api, home: str
) -> None:
    pods = await label(shared, home)
    await shared.post(pods, pod("a", CAREFUL))
    await shared.post(pods, pod("b", CAREFUL, hostPID=True))
    await shared.post(pods, pod("c", CAREFUL, hostPID=True))
    await shared.patch(home, {"metadata": {"labels": {f"{PREFIX}enforce": "baseline"}}})
    assert shared.warnings == [
        f'existing pods in namespace "{home.rpartition("/")[2]}" violate the new PodSecurity '
        'enforce level "baseline:latest"',
        "b (and 1 other pod): host namespaces",
    ]


async def test_a_level_that_does_not_exist_is_refused(shared: Api, home: str) -> None:
    labels = {f"{PREFIX}enforce": "foo"}
    answer = await shared.post("/api/v1/namespaces", {"metadata": {"name": "ns", "labels": labels}})
    assert answer["message"] == (
        'Namespace "ns" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid '
        'value: "foo": must be one of privileged, baseline, restricted'
    )
