"""What all jobs with a `runPolicy` have: those of Kubeflow's training operator, and MPIJobs."""

from fleetqueue.kube.resources import Object


class RunPolicyJob:
    """A view of a job, for those that know more of their kind."""

    __slots__ = ()
    obj: Object

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.obj["metadata"].get("namespace") or "")

    @property
    def spec(self) -> Object:
        spec: Object = self.obj["spec"]
        return spec

    @property
    def run_policy(self) -> Object:
        return self.spec.get("runPolicy") or {}

    @property
    def is_suspended(self) -> bool:
        return bool(self.run_policy.get("suspend"))
