"""Tables, formats, templates, and rows of workloads."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.base.jsonpath import JsonPathError
from fleetqueue.cli.kueuectl import path_templates, pod_selectors, tables
from fleetqueue.cli.kueuectl import workload_rows as rows
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.outputs import read_output, title
from fleetqueue.cli.kueuectl.workload_rows import Surroundings
from fleetqueue.jobs import registry
from fleetqueue.kube.resources import Resource

pytestmark = pytest.mark.rule("kueue 11.4")
NOW = datetime(2026, 1, 2, tzinfo=UTC)
DOCUMENT = {"a": {"b": "x"}, "n": 3, "items": [{"name": "one"}, {"name": "two"}]}


def test_columns_are_three_blanks_apart_and_at_least_six_wide() -> None:
    made = tables.render(["a", "Long header", "b"], [["1", True, None], ["longer", "x\ny", 2]])
    assert made.splitlines() == [
        "A        LONG HEADER   B",
        "1        true          <none>",
        "longer   x...          2",
    ]
    assert tables.render(["a", "b"], []) == "A     B"
    assert tables.age(NOW, None) == "<unknown>"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{.a.b}", "x"),
        (".a.b", "x"),
        ("{.a.b}-{.n}!", "x-3!"),
        ("{.missing}", ""),
        ("{.items[*].name}", "one two"),
        ('{range .items[*]}{.name}{"\\t"}{$.n}{"\\n"}{end}', "one\t3\ntwo\t3\n"),
        ("{range .items[*]}<{range .missing[*]}x{end}{@.name}>{end}", "<one><two>"),
    ],
)
def test_templates_of_paths(template: str, expected: str) -> None:
    assert path_templates.render(template, DOCUMENT) == expected


@pytest.mark.parametrize("template", ["{.a", "{range .items[*]}x", "{end}", "{.a[}"])
def test_bad_templates_are_refused(template: str) -> None:
    with pytest.raises(JsonPathError):
        path_templates.render(template, DOCUMENT)


def test_formats() -> None:
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "managedFields": [1]}}
    assert read_output("name").text(obj) == "pod/p"
    assert read_output("json").text(obj).count("managedFields") == 0
    assert read_output("yaml").text(obj) == "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p"
    assert read_output("jsonpath-as-json={.metadata.name}").text(obj) == '[\n    "p"\n]'
    assert title({**obj, "apiVersion": "a.b/v1"}, "made") == "pod.a.b/p made"
    for text in ("xml", "wide", "name=x", "jsonpath", "jsonpath="):
        with pytest.raises(Failure):
            read_output(text)
    with pytest.raises(Failure, match="error executing jsonpath"):
        read_output("jsonpath={.a").text(obj)


def workload(*owners: tuple[str, str, str], **conditions: tuple[str, str]) -> Any:
    return {
        "metadata": {
            "name": "w",
            "namespace": "n",
            "creationTimestamp": "2026-01-01T23:59:00Z",
            "ownerReferences": [
                {"apiVersion": version, "kind": kind, "name": name}
                for version, kind, name in owners
            ],
        },
        "spec": {"queueName": "lq"},
        "status": {
            "conditions": [
                {"type": type, "status": status, "lastTransitionTime": at}
                for type, (status, at) in conditions.items()
            ]
        },
    }


TORCH = ("kubeflow.org/v1", "PyTorchJob", "train")
POD = ("v1", "Pod", "p")
AT, LATER = "2026-01-01T23:59:20Z", "2026-01-01T23:59:50Z"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (workload(), ["w", "", "", "lq", "", "PENDING", "", "", "60s"]),
        (workload(TORCH),
         ["w", "pytorchjob.kubeflow....", "train", "lq", "", "PENDING", "", "", "60s"]),
        (workload(POD, ("v1", "Pod", "q")),
         ["w", "pod", "p, q", "lq", "", "PENDING", "", "", "60s"]),
        (workload(QuotaReserved=("True", AT)),
         ["w", "", "", "lq", "", "QUOTARESERVED", "", "", "60s"]),
        (workload(QuotaReserved=("True", AT), Admitted=("True", AT)),
         ["w", "", "", "lq", "", "ADMITTED", "", "40s", "60s"]),
        (workload(Admitted=("True", AT), Finished=("True", LATER)),
         ["w", "", "", "lq", "", "FINISHED", "", "30s", "60s"]),
        (workload(Admitted=("False", AT), Finished=("True", LATER)),
         ["w", "", "", "lq", "", "FINISHED", "", "", "60s"]),
    ],
)  # fmt: skip
def test_rows_of_workloads(made: Any, expected: list[str]) -> None:
    assert [str(cell) for cell in rows.row(made, Surroundings(), NOW)] == expected


def test_rows_tell_what_is_around() -> None:
    around = Surroundings(
        {("n", "lq"): "cq"}, {("n", "w"): 4}, {("kubeflow.org/v1", "PyTorchJob"): "torch.k"}
    )
    told = rows.row(workload(TORCH), around, NOW)
    assert told[1:7] == ["torch.k", "train", "lq", "cq", "PENDING", 4]
    admitted = workload(Admitted=("True", AT))
    admitted["status"]["admission"] = {"clusterQueue": "other"}
    assert rows.row(admitted, around, NOW)[4:7] == ["other", "ADMITTED", ""]


@pytest.mark.parametrize(("length", "text"), [(20, "a" * 20), (21, "a" * 20 + "...")])
def test_long_types_are_cut(length: int, text: str) -> None:
    assert rows.shortened("a" * length) == text


def test_the_pods_of_every_kind_of_job_are_found() -> None:
    job = {
        "metadata": {"name": "x", "labels": {"kueue.x-k8s.io/pod-group-name": "g"}},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
        "status": {"rayClusterName": "x-1"},
    }
    found = {
        kind.resource.kind: pod_selectors.selector_of(kind.resource, job)
        for kind in registry.all_kinds()
    }
    assert found["Job"] == "batch.kubernetes.io/job-name=x"
    assert found["Deployment"] == found["StatefulSet"] == "app=x"
    assert found["RayJob"] == "ray.io/cluster=x-1"
    assert found["Pod"] == "kueue.x-k8s.io/pod-group-name=g"
    assert len(found) == len(registry.all_kinds())


def test_pods_of_other_kinds_are_not() -> None:
    with pytest.raises(Failure, match="unsupported kind: Node"):
        pod_selectors.selector_of(Resource("", "v1", "nodes", "Node"), {})
