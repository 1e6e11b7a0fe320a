"""Pod sets inside AppWrappers, what wrappers are given when they are made, what is refused."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.app_wrappers import CONTAINERS, job, pod, service, thing, wrapper
from tests.support.operators import NOW, asked, served, texts

from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Listed
from fleetqueue.kube.webhook_rules import Asked
from fleetqueue.runtime.operators.app_wrapper_pod_sets import BadPath, infer, value_at
from fleetqueue.runtime.operators.app_wrapper_webhook import default, validate

pytestmark = [pytest.mark.rule("jobs B.9"), pytest.mark.rule("jobs D.8")]

POD = {"spec": {"containers": CONTAINERS}}
KUBEFLOW, RAY = "kubeflow.org/v1", "ray.io/v1"


def replicated(**more: Any) -> Object:
    return {"name": "a", "template": {"spec": {"template": POD, **more.pop("job", {})}}, **more}


# fmt: off
KINDS: dict[str, tuple[Object, list[tuple[str, int]]]] = {
    "Pod": (pod(), [("template", 1)]),
    "Deployment": (thing("apps/v1", "Deployment", "d", spec={"replicas": 3, "template": POD}),
                   [("template.spec.template", 3)]),
    "StatefulSet": (thing("apps/v1", "StatefulSet", "s", spec={"template": POD}),
                    [("template.spec.template", 1)]),
    "Job": (job(pods=4), [("template.spec.template", 4)]),
    "Job with fewer completions": (job(parallelism=5, completions=2),
                                   [("template.spec.template", 2)]),
    "JobSet": (thing("jobset.x-k8s.io/v1alpha2", "JobSet", "j", spec={"replicatedJobs": [
                   replicated(replicas=2, job={"parallelism": 3}), replicated()]}),
               [("template.spec.replicatedJobs[0].template.spec.template", 6),
                ("template.spec.replicatedJobs[1].template.spec.template", 1)]),
    "PyTorchJob": (thing(KUBEFLOW, "PyTorchJob", "p", spec={"pytorchReplicaSpecs": {
                       "Worker": {"replicas": 2, "template": POD}, "Master": {"template": POD}}}),
                   [("template.spec.pytorchReplicaSpecs.Master.template", 1),
                    ("template.spec.pytorchReplicaSpecs.Worker.template", 2)]),
    "RayCluster": (thing(RAY, "RayCluster", "r", spec={"headGroupSpec": {"template": POD},
                       "workerGroupSpecs": [{"replicas": 2, "template": POD}]}),
                   [("template.spec.headGroupSpec.template", 1),
                    ("template.spec.workerGroupSpecs[0].template", 2)]),
    "RayJob": (thing(RAY, "RayJob", "r", spec={"rayClusterSpec": {
                   "headGroupSpec": {"template": POD}}}),
               [("template.spec.rayClusterSpec.headGroupSpec.template", 1)]),
    "Service": (service(), []),
}
# fmt: on


@pytest.mark.parametrize(("template", "found"), KINDS.values(), ids=KINDS)
def test_pod_sets_of_known_kinds(template: Object, found: list[tuple[str, int]]) -> None:
    assert [(each["path"], each["replicas"]) for each in infer(template)] == found


PATHS = {
    "spec": "first element of the path must be 'template'",
    "template.spec.nothing": "at path position 'template.spec.' missing field 'nothing'",
    "template.spec.template.spec.containers[7]": (
        "at path position 'template.spec.template.spec.containers' out of bounds index '7'"
    ),
    "template.spec.template.spec.containers[x]": (
        "at path position 'template.spec.template.spec.containers' invalid index expression 'x'"
    ),
    "template.spec[0]": "at path position 'template.spec' found non-array value",
    "template.kind.x": "at path position 'template.kind.' non-map value",
    "templates": "at path position 'template' invalid path element 's'",
}


@pytest.mark.parametrize(("path", "why"), PATHS.items(), ids=PATHS)
def test_paths_that_lead_nowhere(path: str, why: str) -> None:
    with pytest.raises(BadPath) as error:
        value_at(job(), path)
    assert str(error.value) == why


def test_users_are_written_on_their_wrappers() -> None:
    made = wrapper(labels={"workload.codeflare.dev/user": "liar"})
    default(replace(asked(made), user="system:admin@acme!", uid="12"))
    assert made["metadata"]["labels"] == {
        "workload.codeflare.dev/user": "system_admin_acme",
        "workload.codeflare.dev/userid": "12",
    }


PATH = "template.spec.template"
# fmt: off
BAD: dict[str, tuple[Object, str]] = {
    "no pods": (wrapper(service()), "components contains no podspecs"),
    "too many": (wrapper(*(pod(f"p{i}") for i in range(9))),
                 "components contains 9 podspecs; at most 8 are allowed"),
    "nested": (wrapper(job(), thing("workload.codeflare.dev/v1beta2", "AppWrapper", "w")),
               "spec.components[1].template: Forbidden: Nested AppWrappers are forbidden"),
    "elsewhere": (
        wrapper({**job(), "metadata": {"name": "work", "namespace": "other"}}),
        "spec.components[0].template.metadata.namespace: Forbidden: AppWrappers cannot create "
        "objects in other namespaces"),
    "another number": (
        wrapper(components=[{"template": job(), "podSets": [{"path": PATH, "replicas": 2}]}]),
        f"replica count 2 differs from inferred count 1 for PodSet at path position '{PATH}'"),
    "two of one": (
        wrapper(components=[{"template": job(), "podSets": [{"path": PATH}, {"path": PATH}]}]),
        f"multiple DeclaredPodSets with path '{PATH}'"),
    "one too many": (
        wrapper(components=[{"template": job(), "podSets": [
            {"path": PATH}, {"path": "template"}]}]),
        "DeclaredPodSet count 2 differs from inferred count 1"),
    "another path": (
        wrapper(components=[{"template": job(), "podSets": [{"path": "template"}]}]),
        f"PodSet with path '{PATH}' is missing"),
    "a path to nowhere": (
        wrapper(components=[{"template": thing("a.b/v1", "C", "c"), "podSets": [
            {"path": "template.spec"}]}]),
        "path does not refer to a v1.PodSpecTemplate: at path position 'template.' missing field "
        "'spec'"),
    "a strange manager": (wrapper(managedBy="me"),
        'spec.managedBy: Unsupported value: "me": supported values: '
        '"kueue.x-k8s.io/multikueue", "workload.codeflare.dev/appwrapper-controller"'),
}
# fmt: on


@pytest.mark.parametrize(("parent", "why"), BAD.values(), ids=BAD)
def test_what_is_refused(parent: Object, why: str) -> None:
    assert texts(validate(asked(parent)))[-1].endswith(why)


def test_good_wrappers() -> None:
    declared = {"template": job(pods=2), "podSets": [{"path": PATH, "replicas": 2}]}
    unknown = {
        "template": thing("a.b/v1", "C", "c", spec=POD),
        "podSets": [{"path": "template.spec"}],
    }
    for parent in (wrapper(), wrapper(components=[declared]), wrapper(components=[unknown])):
        assert validate(asked(parent)) == []


def test_users_get_nothing_through_a_wrapper_that_they_may_not_create() -> None:
    wanted: list[tuple[str, str, str]] = []

    def may(verb: str, kind: Resource, namespace: str) -> bool:
        wanted.append((verb, str(kind), namespace))
        return kind.plural != "policies"

    def serves(api_version: str, kind: str) -> Resource | None:
        policies = Resource("acme.io", "v1", "policies", "Policy")
        return policies if kind == "Policy" else served(api_version, kind)

    policy = thing("acme.io/v1", "Policy", "p")
    question = replace(asked(wrapper(job(), policy)), user="ann", may=may, served=serves)
    assert texts(validate(question)) == [
        "spec.components[1].template: Forbidden: User ann is not authorized to create policies in "
        "default"
    ]
    assert wanted == [
        ("create", "jobs.batch", "default"),
        ("create", "policies.acme.io", "default"),
    ]


RBAC = "rbac.authorization.k8s.io/v1"
CLUSTER_WIDE = Resource("", "v1", "nodes", "Node", namespaced=False)
NO_KIND = 'the server serves no kind "Policy" in version "acme.io/v1"'
# fmt: off
NOT_FOR_WRAPPERS: dict[str, tuple[Object, str]] = {
    "a kind that is not served": (thing("acme.io/v1", "Policy", "p"), NO_KIND),
    "a kind without namespaces": (thing("v1", "Node", "n"),
                                  "AppWrappers cannot create nodes, which are in no namespace"),
    "a role": (thing(RBAC, "Role", "r"), "AppWrappers cannot create objects that grant access"),
    "a binding": (thing(RBAC, "RoleBinding", "b"),
                  "AppWrappers cannot create objects that grant access"),
}
# fmt: on


@pytest.mark.parametrize(("template", "why"), NOT_FOR_WRAPPERS.values(), ids=NOT_FOR_WRAPPERS)
def test_what_nobody_gets_through_a_wrapper_whatever_they_may(template: Object, why: str) -> None:
    def serves(api_version: str, kind: str) -> Resource | None:
        odd = {"Policy": None, "Node": CLUSTER_WIDE}
        return odd[kind] if kind in odd else served(api_version, kind)

    question = replace(asked(wrapper(job(), template)), served=serves)
    assert texts(validate(question)) == [f"spec.components[1].template: Forbidden: {why}"]


def test_where_nobody_can_tell_what_is_served_nothing_is_let_through() -> None:
    blind = Asked(wrapper(), None, NOW, Listed([]))
    (error,) = texts(validate(blind))
    assert error.endswith('the server serves no kind "Job" in version "batch/v1"')
    unasked = replace(blind, served=served, user="ann")
    (error,) = texts(validate(unasked))
    assert error.endswith("User ann is not authorized to create jobs in default")


def test_no_change_brings_in_what_a_creation_refuses() -> None:
    question = asked(wrapper(thing(RBAC, "RoleBinding", "b")), wrapper())
    assert texts(validate(question)) == [
        "spec.components[0].template.raw: Forbidden: attempt to change immutable field"
    ]


def test_components_do_not_change_later() -> None:
    fixed = "attempt to change immutable field"
    old = wrapper(components=[{"template": job(), "podSets": [{"path": PATH}]}])
    info = {"template": job(), "podSets": [{"path": PATH}], "podSetInfos": [{"labels": {"a": "b"}}]}
    assert validate(asked(wrapper(components=[info], suspend=True), old)) == []
    changed = {"template": job(pods=2), "podSets": [{"path": "template", "replicas": 2}]}
    assert texts(validate(asked(wrapper(components=[changed]), old))) == [
        f"spec.components[0].template.raw: Forbidden: {fixed}",
        f"spec.components[0].podsets[0].replicas: Forbidden: {fixed}",
        f"spec.components[0].podsets[0].path: Forbidden: {fixed}",
    ]
    assert texts(validate(asked(wrapper(), old))) == [
        f"spec.components[0].podsets: Forbidden: {fixed}"
    ]
    assert texts(validate(asked(wrapper(job(), job()), old))) == [
        f"spec.components: Forbidden: {fixed}"
    ]
    key = "workload.codeflare.dev/user"
    relabelled = {**old, "metadata": {**old["metadata"], "labels": {key: "bob"}}}
    managed = {**old, "spec": {**old["spec"], "managedBy": "kueue.x-k8s.io/multikueue"}}
    assert texts(validate(asked(relabelled, old))) == [
        f"metadata.labels[{key}]: Forbidden: {fixed}"
    ]
    assert texts(validate(asked(managed, old))) == [f"spec.managedBy: Forbidden: {fixed}"]
