"""What goes wrong for users: each gets the status, reason, event and message that they know."""

from typing import Any

import pytest

from live.conftest import Live

Object = dict[str, Any]


def pod(name: str, *command: str, policy: str = "Never", **container: Any) -> Object:
    first = {"name": "c", "image": "busybox", "command": list(command), **container}
    spec = {"restartPolicy": policy, "containers": [first]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def container_status(live: Live, name: str) -> Object:
    statuses = (live.get("Pod", name).get("status") or {}).get("containerStatuses")
    found: Object = statuses[0] if statuses else {"state": {}, "restartCount": 0}
    return found


@pytest.mark.rule("jobs C.2")
def test_a_command_that_does_not_exist(live: Live) -> None:
    live.create(pod("a", "no-such-program"))
    live.until("the pod fails", lambda: live.phase("a") == "Failed")
    ended = container_status(live, "a")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert 'exec: "no-such-program": executable file not found in $PATH' in ended["message"]
    assert any("executable file not found" in text for text in live.events("Failed"))


@pytest.mark.rule("jobs C.3")
def test_a_missing_config_map(live: Live) -> None:
    source = {"configMapKeyRef": {"name": "x", "key": "k"}}
    live.create(pod("a", "sh", "-c", "echo $V", env=[{"name": "V", "valueFrom": source}]))
    waiting = {"reason": "CreateContainerConfigError", "message": 'configmap "x" not found'}
    live.until("it waits", lambda: container_status(live, "a")["state"].get("waiting") == waiting)
    config = {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"k": "found"}}
    live.create({"apiVersion": "v1", **config})
    live.until("it runs", lambda: live.phase("a") == "Succeeded")
    assert live.logs("a") == "found\n"


@pytest.mark.rule("jobs C.10")
def test_an_impossible_request(live: Live) -> None:
    live.create(pod("a", "true", resources={"requests": {"cpu": "1000"}}))
    said = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
    live.until(
        "it is told", lambda: any(t.startswith(said) for t in live.events("FailedScheduling"))
    )
    (condition,) = live.get("Pod", "a")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "Unschedulable")


@pytest.mark.rule("jobs C.5")
def test_a_probe_that_fails(live: Live) -> None:
    probe = {"exec": {"command": ["sh", "-c", "echo not yet; exit 1"]}, "periodSeconds": 1}
    live.create(pod("a", "sleep", "600", readinessProbe=probe))
    live.until(
        "it is told", lambda: "Readiness probe failed: not yet\n" in live.events("Unhealthy")
    )
    assert not live.condition("Pod", "a", "Ready")
    assert live.phase("a") == "Running"
    live.delete("Pod", "a")


@pytest.mark.rule("jobs C.5")
def test_a_crash_loop(live: Live) -> None:
    live.create(pod("a", "sh", "-c", "echo going down; exit 7", policy="Always"))
    live.until(
        "it backs off",
        lambda: (
            (container_status(live, "a")["state"].get("waiting") or {}).get("reason")
            == "CrashLoopBackOff"
        ),
    )
    status = container_status(live, "a")
    assert status["state"]["waiting"]["message"].startswith("back-off 10s restarting failed")
    assert status["lastState"]["terminated"]["exitCode"] == 7
    assert live.logs("a", "?previous=true") == "going down\n"
    live.delete("Pod", "a")


@pytest.mark.rule("jobs C.5")
def test_a_pod_that_ignores_the_signal_to_end(live: Live) -> None:
    script = "trap '' TERM; echo deaf; while true; do sleep 0.1; done"
    body = pod("a", "sh", "-c", script)
    body["spec"]["terminationGracePeriodSeconds"] = 1
    live.create(body)
    live.until("it runs", lambda: live.phase("a") == "Running")
    live.says("a", "deaf")
    live.delete("Pod", "a")
    live.until("it is gone", lambda: not live.pods())
    assert "Stopping container c" in live.events("Killing")


@pytest.mark.rule("jobs C.8")
def test_an_image_that_cannot_be(live: Live) -> None:
    live.create(pod("a", "true", image="Not/A/Valid:Reference!"))
    live.until(
        "it is told",
        lambda: (
            (container_status(live, "a")["state"].get("waiting") or {}).get("reason")
            == "InvalidImageName"
        ),
    )
    live.delete("Pod", "a")
