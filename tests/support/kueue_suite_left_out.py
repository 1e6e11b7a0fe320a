"""Cases of Kueue's suites that ask for something which is no part of a cluster of ours."""

PROMETHEUS, RAY = "feature:prometheus", "requires:fullray"
"""What they are marked with where the suites mark them: a Prometheus, an image with all of Ray."""

_KUBELET = "stops the kubelet of a kind node through docker"
_AUTOSCALER = "scales by the autoscaler inside an image with Ray"
CASES = {
    "Should replace a node when it becomes NotReady and pods are Pending": _KUBELET,
    "should unblock foreground deletion during a kubelet outage": _KUBELET,
    "Should run a rayjob with InTreeAutoscaling": _AUTOSCALER,
    "Should run a rayjob with multi scale-up steps": _AUTOSCALER,
}
"""Texts of cases, and what keeps each out."""


def flags(suite: str) -> list[str]:
    """What tells ginkgo to leave them out; those of MultiKueue have Ray itself."""
    if suite.startswith("multikueue/"):
        return [f"-ginkgo.label-filter=!{PROMETHEUS}"]
    labels = f"!{PROMETHEUS} && !{RAY}"
    return [f"-ginkgo.label-filter={labels}", *(f"-ginkgo.skip={text}" for text in CASES)]
