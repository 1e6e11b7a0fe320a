"""kubectl rollout, word by word: the same commands and the same answers on both sides."""

import re
import subprocess
from collections.abc import Callable

from differential import app_stories as apps
from differential.harness import Planes, Side, Story
from support.reference import binaries

_VARIES = (
    (re.compile(r"\b[bcdfghjklmnpqrstvwxz2456789]{8,10}\b"), "HASH"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:]+(Z|[-+]\d\d:\d\d)"), "TIME"),
)


def tell(planes: Planes) -> None:
    """A Deployment, a StatefulSet and a DaemonSet through all that kubectl offers for them."""
    with planes.story("rollout-by-kubectl") as story:
        _deployment(story, _runner(planes))
    for kind in ("StatefulSet", "DaemonSet"):
        namespace = f"{kind.lower()[:-3]}-set-by-kubectl"
        with planes.story(namespace) as story:
            _revisioned(story, _runner(planes), kind)


def _runner(planes: Planes) -> Callable[[Story, str], str]:
    kubectl = str(binaries() / "kubectl")

    def run(story: Story, command: str) -> str:
        """What both answer, which must be the same."""
        answers = []
        for server, side in ((planes.reference, story.reference), (planes.ours, story.ours)):
            line = [kubectl, f"--kubeconfig={server.kubeconfig}", f"-n={side.namespace}"]
            done = subprocess.run(
                [*line, *command.split(" ")], capture_output=True, text=True, timeout=60
            )
            answers.append(f"{done.returncode}\n{_normal(done.stdout)}\n{_normal(done.stderr)}")
        assert answers[0] == answers[1], (
            f"{command}\n--- real\n{answers[0]}\n--- ours\n{answers[1]}"
        )
        return answers[0]

    return run


def _normal(text: str) -> str:
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    # How often it is told that something goes on depends on who is faster.
    lines = [line for line in text.splitlines() if not line.startswith("Waiting for")]
    return "\n".join(lines)


def _deployment(story: Story, kubectl: Callable[[Story, str], str]) -> None:
    kubectl(story, "create deployment web --image=one --replicas=2")
    _until_rolled_out(story, "Deployment")
    assert "successfully rolled out" in kubectl(story, "rollout status deployment/web")
    kubectl(story, "annotate deployment/web kubernetes.io/change-cause=first")
    kubectl(story, "set image deployment/web one=two")
    kubectl(story, "annotate deployment/web --overwrite kubernetes.io/change-cause=second")
    _until_rolled_out(story, "Deployment")
    for command in (
        "rollout status deployment/web",
        "rollout history deployment/web",
        "rollout history deployment/web --revision=2",
        "rollout undo deployment/web",
    ):
        kubectl(story, command)
    _until_rolled_out(story, "Deployment")
    assert "3" in kubectl(story, "rollout history deployment/web")
    kubectl(story, "rollout undo deployment/web --to-revision=9")
    kubectl(story, "rollout undo deployment/web --to-revision=2")
    _until_rolled_out(story, "Deployment")
    kubectl(story, "rollout history deployment/web")
    for command in (
        "rollout pause deployment/web",
        "rollout pause deployment/web",
        "rollout undo deployment/web",
        "rollout restart deployment/web",
        "rollout resume deployment/web",
        "rollout resume deployment/web",
        "rollout restart deployment/web",
    ):
        kubectl(story, command)
    _until_rolled_out(story, "Deployment")
    for command in (
        "rollout status deployment/web",
        "rollout history deployment/web",
        "scale deployment/web --replicas=3",
    ):
        kubectl(story, command)
    _until_rolled_out(story, "Deployment")
    kubectl(story, "get deployment/web -o=jsonpath={.status.readyReplicas}")


def _revisioned(story: Story, kubectl: Callable[[Story, str], str], kind: str) -> None:
    what = f"{kind.lower()}/web"
    if kind == "DaemonSet":
        apps.node(story, "a")
        apps.create(story, apps.daemon_set(story))
    else:
        apps.create(story, apps.workload(kind, replicas=2, serviceName="web"))
    _until_rolled_out(story, kind)
    kubectl(story, f"rollout status {what}")
    kubectl(story, f"set image {what} main=two")
    _until_rolled_out(story, kind)
    for command in (
        f"rollout status {what}",
        f"rollout history {what}",
        f"rollout history {what} --revision=1",
        f"rollout undo {what}",
    ):
        kubectl(story, command)
    _until_rolled_out(story, kind)
    kubectl(story, f"rollout history {what}")
    kubectl(story, f"rollout restart {what}")
    _until_rolled_out(story, kind)
    kubectl(story, f"rollout status {what}")
    kubectl(story, f"rollout history {what}")


def _until_rolled_out(story: Story, kind: str) -> None:
    """Pods are moved along until both say that all are new and ready."""

    def is_done(side: Side) -> bool:
        found = side.get(kind, apps.NAME)
        assert found is not None
        if kind == "DaemonSet":
            apps.run_daemons(side)
        else:
            _run(side)
        return _is_rolled_out(found)

    story.until(is_done, f"{kind} is rolled out")


def _run(side: Side) -> None:
    for pod in side.pods():
        if "deletionTimestamp" in pod["metadata"]:
            side.remove(pod)
        elif pod["status"]["phase"] == "Pending" and side.get("Pod", pod["metadata"]["name"]):
            side.start(pod)


def _is_rolled_out(found: apps.Object) -> bool:
    status, spec = found.get("status") or {}, found["spec"]
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return False
    if found["kind"] == "DaemonSet":
        names = ("updatedNumberScheduled", "numberAvailable")
        return {status.get(name) for name in names} == {status["desiredNumberScheduled"]}
    names = ("updatedReplicas", "availableReplicas", "replicas")
    if found["kind"] == "StatefulSet" and status["currentRevision"] != status["updateRevision"]:
        return False
    return {status.get(name) for name in names} == {spec["replicas"]}
