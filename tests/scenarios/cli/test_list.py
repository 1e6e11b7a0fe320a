"""Lists of queues, flavors, workloads and pods, as tables and otherwise."""

import pytest

from fleetqueue.base import documents
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, namespace
from support.ctl import Ctl, Ran
from support.kueue import Kueue, admission_check, cluster_queue, flavor, local_queue, workload

pytestmark = pytest.mark.rule("kueue 11.4", "kueue 13.9")
JOB = {"apiVersion": "batch/v1", "kind": "Job"}


def table(text: str) -> list[list[str]]:
    """Cells of each line, at the places that the headers begin at."""
    lines = text.splitlines()
    starts = [at for at in range(len(lines[0])) if lines[0][max(at - 2, 0) : at].strip() == ""]
    starts = [at for at in starts if lines[0][at] != " " and (at == 0 or lines[0][at - 1] == " ")]
    return [
        [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        for line in lines
    ]


async def test_cluster_queues(cluster: Kueue, ctl: Ctl) -> None:
    await cluster.create(
        flavor(),
        cluster_queue(quota="3", cohortName="team"),
        cluster_queue("x", {"none": {"cpu": "1"}}),
        local_queue(),
    )
    for name in ("held", "first"):
        await cluster.create(workload(name, cpu="3"))
    await cluster.fleet.passes(seconds=65)
    await cluster.fleet.settle()
    assert (await ctl("list", "clusterqueue")).out == (
        "NAME    COHORT   PENDING WORKLOADS   ADMITTED WORKLOADS   ACTIVE   AGE\n"
        "queue   team     1                   1                    true     65s\n"
        "x                0                   0                    false    65s\n"
    )
    only = [line[0] for line in table((await ctl("list", "cq", "--active=true")).out)]
    assert only == ["NAME", "queue"]
    only = [line[0] for line in table((await ctl("list", "cq", "--active", "false")).out)]
    assert only == ["NAME", "x"]
    both = await ctl("list", "cq", "--active", "true", "--active=false", "-o", "name")
    assert both.out == "clusterqueue.kueue.x-k8s.io/queue\nclusterqueue.kueue.x-k8s.io/x\n"


async def test_local_queues(cluster: Kueue, ctl: Ctl) -> None:
    await cluster.create(
        flavor(), cluster_queue(), local_queue(), local_queue("z", "other"), namespace("far")
    )
    far = local_queue("far")
    far["metadata"]["namespace"] = "far"
    await cluster.create(far)
    await cluster.fleet.passes(seconds=5)
    assert (await ctl("list", "localqueue")).out == (
        "NAME   CLUSTERQUEUE   PENDING WORKLOADS   ADMITTED WORKLOADS   AGE\n"
        "main   queue          0                   0                    5s\n"
        "z      other          0                   0                    5s\n"
    )
    assert (await ctl("list", "lq", "-A", "-c", "queue")).out == (
        "NAMESPACE   NAME   CLUSTERQUEUE   PENDING WORKLOADS   ADMITTED WORKLOADS   AGE\n"
        "default     main   queue          0                   0                    5s\n"
        "far         far    queue          0                   0                    5s\n"
    )
    assert [line[0] for line in table((await ctl("-n", "far", "list", "lq")).out)] == [
        "NAME",
        "far",
    ]


async def test_flavors(cluster: Kueue, ctl: Ctl) -> None:
    await cluster.create(flavor("plain"), flavor("spot", nodeLabels={"b": "2", "a": "1"}))
    assert (await ctl("list", "rf")).out == (
        "NAME    NODE LABELS   AGE\nplain                 0s\nspot    a=1, b=2      0s\n"
    )


@pytest.mark.parametrize("limit", ["", "1", "2"])
async def test_k_2_pages_and_field_selectors(
    cluster: Kueue, ctl: Ctl, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setenv("KUEUECTL_LIST_REQUEST_LIMIT", limit)
    for name in ("a", "b", "c"):
        await cluster.create(
            flavor(name), cluster_queue(name), local_queue(name, name), workload(name, queue=name)
        )
    for kind in ("clusterqueue", "localqueue", "resourceflavor", "workload"):
        title = f"{kind}.kueue.x-k8s.io"
        found = await ctl("list", kind, "-o", "name")
        assert found.out.split() == [f"{title}/{name}" for name in "abc"]
        assert [line[0] for line in table((await ctl("list", kind)).out)[1:]] == ["a", "b", "c"]
        found = await ctl("list", kind, "--field-selector", "metadata.name=b", "-o", "name")
        assert found.out == f"{title}/b\n"
        found = await ctl("list", kind, "--field-selector=metadata.name!=b", "-o", "name")
        assert found.out.split() == [f"{title}/a", f"{title}/c"]


async def test_k_2_label_selectors_and_other_formats(cluster: Kueue, ctl: Ctl) -> None:
    marked = flavor("marked")
    marked["metadata"]["labels"] = {"team": "red"}
    await cluster.create(marked, flavor("other"))
    found = documents.load((await ctl("list", "rf", "-l", "team=red", "-o", "json")).out)
    assert (found["kind"], found["apiVersion"]) == ("ResourceFlavorList", "kueue.x-k8s.io/v1beta2")
    assert [each["metadata"]["name"] for each in found["items"]] == ["marked"]
    names = await ctl("list", "rf", "-o", 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}')
    assert names.out == "marked\nother\n\n"
    found = documents.load((await ctl("list", "rf", "-o", "yaml", "--show-managed-fields")).out)
    assert all(each["metadata"]["managedFields"] for each in found["items"])


async def test_nothing_is_told_beside(cluster: Kueue, ctl: Ctl) -> None:
    for kind in ("cq", "rf"):
        assert await ctl("list", kind) == Ran("", "No resources found\n")
    for kind in ("lq", "kwl"):
        told = "No resources found in default namespace.\n"
        assert await ctl("list", kind) == Ran("", told)
        assert await ctl("list", kind, "-A") == Ran("", "No resources found\n")


async def test_workloads(cluster: Kueue, ctl: Ctl, fleet: Fleet) -> None:
    owner = await cluster.client.create(job("sample"))
    await cluster.create(
        flavor(),
        cluster_queue(quota="3"),
        cluster_queue("checked", admissionChecksStrategy={"admissionChecks": [{"name": "check"}]}),
        local_queue(),
        local_queue("slow", "checked"),
        admission_check("check", "somebody"),
    )
    await cluster.activate("check")
    held = workload("held", cpu="3")
    held["metadata"]["ownerReferences"] = [{**JOB, "name": "sample", "uid": uid(owner)}]
    for each in (workload("done", cpu="3"), held, workload("second", cpu="3")):
        await cluster.create(each)
        await fleet.passes(minutes=11)
        if each["metadata"]["name"] == "done":
            await cluster.finish("done")
    await cluster.create(workload("reserved", queue="slow"))
    await cluster.create(workload("third", cpu="3"), workload("lost", queue="nowhere"))
    assert (await ctl("list", "workload")).out == (
        "NAME       JOB TYPE    JOB NAME   LOCALQUEUE   CLUSTERQUEUE   STATUS          "
        "POSITION IN QUEUE   EXEC TIME   AGE\n"
        "done                              main         queue          FINISHED        "
        "                    11m         33m\n"
        "held       job.batch   sample     main         queue          ADMITTED        "
        "                    22m         22m\n"
        "lost                              nowhere                     PENDING         "
        "                                0s\n"
        "reserved                          slow         checked        QUOTARESERVED   "
        "                                0s\n"
        "second                            main         queue          PENDING         "
        "0                               11m\n"
        "third                             main         queue          PENDING         "
        "1                               0s\n"
    )
    for flags, names in (
        (("--status", "pending"), ["lost", "second", "third"]),
        (("--status", "admitted,finished"), ["done", "held"]),
        (("--status", "quotareserved", "--status=finished"), ["done", "reserved"]),
        (("--status", "all"), ["done", "held", "lost", "reserved", "second", "third"]),
        (("-q", "slow"), ["reserved"]),
        (("-c", "queue", "--status", "pending"), ["second", "third"]),
        (("--clusterqueue", "checked", "--localqueue", "main"), []),
        (("--for", "job/sample"), ["held"]),
        (("--for", "jobs.batch/sample"), ["held"]),
        (("--for", "job.v1.batch/sample", "--status", "pending"), []),
        (("-A", "--field-selector", "metadata.name=held"), ["held"]),
    ):
        found = await ctl("list", "kwl", *flags, "-o", "jsonpath={.items[*].metadata.name}")
        assert found.out.split() == names, flags


async def test_workloads_of_a_job_are_found_by_its_label_first(cluster: Kueue, ctl: Ctl) -> None:
    owner = await cluster.client.create(job("sample"))
    labelled, owned = workload("labelled"), workload("owned")
    labelled["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": uid(owner)}
    owned["metadata"]["ownerReferences"] = [{**JOB, "name": "sample", "uid": uid(owner)}]
    await cluster.create(owned)
    found = await ctl("list", "workload", "--for", "job/sample", "-o", "name")
    assert found.out == "workload.kueue.x-k8s.io/owned\n"
    await cluster.create(labelled)
    found = await ctl("list", "workload", "--for", "job/sample", "-o", "name")
    assert found.out == "workload.kueue.x-k8s.io/labelled\n"


async def test_the_pods_of_a_job(cluster: Kueue, ctl: Ctl) -> None:
    await cluster.client.create(job("sample"))
    for name, of in (("sample-1", "sample"), ("other-1", "other")):
        await cluster.client.create(pod(name, {"batch.kubernetes.io/job-name": of}))
    assert (await ctl("list", "pods", "--for", "job/sample")).out == (
        "NAME       READY   STATUS    RESTARTS   AGE\nsample-1   0/1     Pending   0          0s\n"
    )
    wide = table((await ctl("list", "po", "--for", "job/sample", "-o", "wide", "-A")).out)
    assert wide[0][0:2] == ["NAMESPACE", "NAME"]
    assert "NODE" in wide[0]
    assert wide[1][:2] == ["default", "sample-1"]
    found = await ctl("list", "po", "--for", "jobs.batch/sample", "-o", "name")
    assert found.out == "pod/sample-1\n"
    none = await ctl("list", "po", "--for", "job/sample", "-l", "a=b")
    assert none == Ran("", "No resources found in default namespace.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kwl", "--status", "lost"),
         'invalid status value (lost). Must be "all", "pending", "admitted" or "finished"'),
        (("kwl", "--for", "job"), "--for must be in resource/name form"),
        (("kwl", "--for", "job/a/b"), "--for must be in resource/name form"),
        (("kwl", "--for", "job/none"), 'jobs.batch "none" not found'),
        (("kwl", "--for", "unheard/of"), 'the server doesn\'t have a resource type "unheard"'),
        (("po",), 'required flag(s) "for" not set'),
        (("po", "--for", "job"),
         "invalid value 'job' used in --for flag; value must be in the format"
         " TYPE[.API-GROUP]/NAME"),
        (("po", "--for", "ns/default"), "unsupported kind: Namespace"),
        (("cq", "name"), 'unknown command "name" for "kueuectl list clusterqueue"'),
    ],
)  # fmt: skip
async def test_what_cannot_be_listed(
    cluster: Kueue, ctl: Ctl, arguments: tuple[str, ...], message: str
) -> None:
    done = await ctl("list", *arguments)
    assert (done.out, done.err, done.code) == ("", f"Error: {message}\n", 1)


async def test_a_limit_must_be_a_number(
    cluster: Kueue, ctl: Ctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUEUECTL_LIST_REQUEST_LIMIT", "many")
    done = await ctl("list", "cq")
    assert (done.out, done.code) == ("", 1)
    assert 'KUEUECTL_LIST_REQUEST_LIMIT environment variable "many"' in done.err


async def test_what_is_not_known_of_a_queue_leaves_places_out(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a cluster that answers nothing about its queues."""
    cluster = await Kueue.start(fleet)
    await cluster.create(flavor(), cluster_queue(quota="1"), local_queue(), workload("a", cpu="3"))
    done = await Ctl(cluster.client, fleet.clock, capsys)("list", "workload")
    assert "a" in done.out
    assert done.err.startswith("Warning: places in queues are not known: ")


def uid(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


def job(name: str) -> Object:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    metadata = {"name": name, "namespace": "default"}
    return {**JOB, "metadata": metadata, "spec": {"suspend": True, "template": template}}


def pod(name: str, labels: dict[str, str]) -> Object:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
