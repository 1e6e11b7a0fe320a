"""One step of a RayJob: where it stands, what there is to see, and where it goes from there."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube import finalizers
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Create, Delete, Look, Note, Order, Patch, Status
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import JOB, RAY_CLUSTER, SERVICE
from fleetqueue.runtime.operators import ray_cluster_status as states
from fleetqueue.runtime.operators import ray_job_sight as sight
from fleetqueue.runtime.operators import ray_job_submission as submission
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators import ray_services as services
from fleetqueue.runtime.operators.ray_cluster_rules import Problem
from fleetqueue.runtime.operators.ray_job_deletion import clean_up, delete_cluster
from fleetqueue.runtime.operators.ray_job_draft import Draft, Settings
from fleetqueue.runtime.operators.strangers import is_stranger
from fleetqueue.runtime.ray_dashboard import JobInfo

FINALIZER = "ray.io/rayjob-finalizer"


@dataclass(frozen=True, slots=True)
class Submit:
    """An order to Ray: run this."""

    cluster: Object
    request: Object


class Turn:
    """One look at one job: where it stands, and the next step from there."""

    def __init__(self, look: Look, settings: Settings) -> None:
        self.look, self.settings = look, settings
        self.job, self.spec = look.parent, look.parent["spec"]
        self.draft = Draft(look, settings)

    def take(self) -> None:
        phases: dict[str, Callable[[], bool]] = {
            "": self._start,
            "Initializing": self._initialize,
            "Waiting": self._wait,
            "Running": self._watch,
            "Suspending": self._release,
            "Retrying": self._release,
            "Suspended": self._resume,
            "ValidationFailed": self._pardon,
        }
        phase = phases.get(str(self.draft.old.get("jobDeploymentStatus") or ""))
        if phase is None:
            self.draft.plan = clean_up(self.look)
        elif phase():
            self.draft.conclude()

    def refuse(self, problem: Problem) -> None:
        self.draft.set("ValidationFailed", "ValidationFailed", problem.text)
        if self.draft.status != self.draft.old:
            text = f"{names.full_name(self.job)}: {problem.text}"
            self.draft.plan.add(Status(self.draft.status), Note(problem.reason, text, "Warning"))

    def _start(self) -> bool:
        """Names are in the status before anything that has them is made."""
        patch = finalizers.added(self.job, FINALIZER)
        if patch is not None:
            self.draft.plan.add(Patch(self.job, patch))
        metadata = self.job["metadata"]
        seed = (metadata["uid"], metadata.get("resourceVersion"))
        is_ours = submission.mode_of(self.job) != submission.INTERACTIVE
        if is_ours and not self.draft.status.get("jobId"):
            id = self.spec.get("jobId") or names.generated(self.look.name, "job", *seed)
            self.draft.status["jobId"] = id
        if not self.draft.status.get("rayClusterName"):
            selected = (self.spec.get("clusterSelector") or {}).get(names.CLUSTER_KEY)
            made = names.generated(self.look.name, "cluster", *seed)
            self.draft.status["rayClusterName"] = selected or made
        self.draft.status["startTime"] = format_time(self.look.now)
        self.draft.status.setdefault("rayClusterStatus", dict(states.EMPTY))
        self.draft.set("Initializing")
        return True

    def _initialize(self) -> bool:
        if self._turns_away("activeDeadlineSeconds", "preRunningDeadlineSeconds"):
            return True
        cluster = self._cluster()
        if cluster is None:
            return False
        if not self.draft.status.get("dashboardURL"):
            if not _is_ready(cluster) and not self._is_over_already(cluster):
                self.draft.status["rayClusterStatus"] = cluster.get("status") or dict(states.EMPTY)
                return True
            url = self._dashboard_url(cluster)
            if not url:
                return False
            self.draft.status["dashboardURL"] = url
        if submission.mode_of(self.job) == submission.INTERACTIVE:
            self.draft.set("Waiting")
            return True
        self._submit(cluster)
        self.draft.set("Running")
        return True

    def _is_over_already(self, cluster: Object) -> bool:
        """Beside a head without Ray a short job may end before anybody saw that head ready."""
        if submission.mode_of(self.job) != submission.SIDECAR:
            return False
        has_ray = self.settings.has_ray(names.head_image(cluster["spec"]))
        return not has_ray and sight.see_submitter(self.look).finished_at is not None

    def _wait(self) -> bool:
        """For somebody to submit, and to tell the name of the job."""
        if self._turns_away("preRunningDeadlineSeconds", may_suspend=False):
            return True
        if not self.spec.get("jobId"):
            return False
        self.draft.status["jobId"] = self.spec["jobId"]
        self.draft.set("Running")
        return True

    def _watch(self) -> bool:
        if self._turns_away("activeDeadlineSeconds") or self.draft.is_overdue():
            return True
        cluster = self._cluster()
        if cluster is None:
            return False
        self._keep_service(cluster)
        has_ray = self.settings.has_ray(names.head_image(cluster["spec"]))
        if has_ray:
            self.draft.plan.look_again(self.settings.poll_seconds)
        seen = sight.see_job(self.look, self.settings.has_ray, cluster)
        submitter = None
        if sight.has_submitter(self.job, has_ray=has_ray):
            submitter = sight.see_submitter(self.look)
            if not submitter.is_there:
                return self._lost_submitter()
            if submitter.failure:
                self._fail_submission(seen.info, submitter.failure)
                return True
        return self._follow(cluster, seen, submitter)

    def _follow(
        self, cluster: Object, seen: sight.Sight, submitter: sight.Submitter | None
    ) -> bool:
        finished = submitter.finished_at if submitter is not None else None
        if seen.problem:
            return self.draft.endure(seen.problem)
        self.draft.status.pop("jobStatusCheckFailureStartTime", None)
        if seen.info is None:
            if submission.mode_of(self.job) == submission.HTTP:
                request = submission.make_request(self.job, self.draft.status)
                self.draft.plan.add(Order(Submit(cluster, request)))
                return False
            if finished is not None:
                text = "Submitter completed but Ray job not found in RayCluster."
                self.draft.set("Failed", "AppFailed", text)
                return True
            return self.draft.status != self.draft.old
        is_over = seen.info.is_terminal and (submitter is None or finished is not None)
        if finished is not None and not is_over and self.draft.outlasts(finished):
            return True
        self._record(cluster, seen.info, is_over)
        return True

    def _record(self, cluster: Object, info: JobInfo, is_over: bool) -> None:
        self.draft.status["rayClusterStatus"] = cluster.get("status") or dict(states.EMPTY)
        self.draft.status["jobStatus"] = info.status
        self._take_times(info)
        if not is_over:
            self.draft.set("Running", "", info.message)
        elif info.status == "FAILED":
            self.draft.set("Failed", "AppFailed", info.message)
        else:
            self.draft.set("Complete", "", info.message)

    def _take_times(self, info: JobInfo) -> None:
        times = dict(self.draft.status.get("rayJobInfo") or {})
        if info.start_milliseconds:
            times["startTime"] = _from_milliseconds(info.start_milliseconds)
        if info.end_milliseconds:
            times["endTime"] = _from_milliseconds(info.end_milliseconds)
        if times:
            self.draft.status["rayJobInfo"] = times

    def _release(self) -> bool:
        """All that the run has goes, with its pods; only then the next state begins, lest a queue
        give away what they still take.
        """
        cluster = self.look.find(RAY_CLUSTER, str(self.draft.status.get("rayClusterName") or ""))
        if self.spec.get("clusterSelector"):
            cluster = None
        job = self.look.find(JOB, self.look.name)
        if job is not None and is_stranger(self.look, job):
            job = None
        self.draft.plan.add(*delete_cluster(self.look, cluster, "Foreground"))
        if cluster is not None and is_stranger(self.look, cluster):
            cluster = None
        if job is not None and not is_deleting(job):
            text = f"Deleted submitter K8s Job {names.full_name(job)}"
            going = Delete(job, "Foreground")
            self.draft.plan.add(going, Note("DeletedRayJobSubmitter", text))
        if cluster is not None or job is not None:
            return False
        for field in ("rayClusterName", "dashboardURL", "jobId", "rayJobInfo", "jobStatus"):
            self.draft.status.pop(field, None)
        self.draft.status.pop("jobStatusCheckFailureStartTime", None)
        self.draft.status["rayClusterStatus"] = dict(states.EMPTY)
        self.draft.set("Suspended" if self.draft.old["jobDeploymentStatus"] == "Suspending" else "")
        return True

    def _resume(self) -> bool:
        if self.spec.get("suspend"):
            return False
        self.draft.status.pop("jobStatus", None)
        self.draft.set("")
        return True

    def _pardon(self) -> bool:
        """What was wrong is right now: a job that had ended stays so, another one goes on."""
        if self.draft.old.get("endTime"):
            failed = self.draft.old.get("jobStatus") == "FAILED"
            self.draft.set("Failed" if failed else "Complete", "AppFailed" if failed else "")
            self.draft.plan.add(Status(self.draft.status))
            return False
        self.draft.set("Initializing" if self.draft.old.get("rayClusterName") else "")
        return True

    def _turns_away(self, *deadlines: str, may_suspend: bool = True) -> bool:
        """Whether the job is suspended, or has come to a deadline."""
        if may_suspend and self.spec.get("suspend"):
            self.draft.set("Suspending", self.draft.status.get("reason") or "", self.draft.message)
            return True
        return any(map(self.draft.passes, deadlines))

    def _lost_submitter(self) -> bool:
        if submission.mode_of(self.job) != submission.SIDECAR:
            return False
        self.draft.set("Failed", "AppFailed", "Ray head pod not found.")
        return True

    def _fail_submission(self, info: JobInfo | None, text: str) -> None:
        """A submitter fails with the job that it follows, or on its own account."""
        if info is not None and info.status == "FAILED":
            self.draft.status["jobStatus"] = info.status
            self._take_times(info)
            self.draft.set("Failed", "AppFailed", info.message)
        elif self.draft.status.get("jobStatus") == "FAILED":
            self.draft.set("Failed", "AppFailed", self.draft.message)
        else:
            self.draft.set("Failed", "SubmissionFailed", text)

    def _cluster(self) -> Object | None:
        """The cluster to run on; None where it is only now made, or cannot be."""
        name = self.draft.status["rayClusterName"]
        cluster = self.look.find(RAY_CLUSTER, name)
        if cluster is not None:
            return cluster
        if self.spec.get("clusterSelector"):
            text = (
                f"RayCluster {self.look.namespace}/{name} set in the clusterSelector is not found."
                " It must be created manually"
            )
            self.draft.plan.add(Note("RayClusterNotFound", text, "Warning"))
        else:
            self.draft.plan.add(Create(submission.make_cluster(self.job, self.draft.status)))
        return None

    def _submit(self, cluster: Object) -> None:
        has_ray = self.settings.has_ray(names.head_image(cluster["spec"]))
        if submission.mode_of(self.job) == submission.SIDECAR:
            return
        if not sight.has_submitter(self.job, has_ray=has_ray):
            return
        if self.look.find(JOB, self.look.name) is None:
            status = self.draft.status
            made = submission.make_submitter(self.job, status, cluster, runs_it=not has_ray)
            self.draft.plan.add(Create(made))

    def _keep_service(self, cluster: Object) -> None:
        if self.spec.get("clusterSelector"):
            return
        wanted = services.named_head_service(self.job, cluster)
        kept = services.keep(self.look, wanted)
        self.draft.plan.add(*kept.steps)
        if kept.after is not None:
            self.draft.plan.look_again(kept.after)

    def _dashboard_url(self, cluster: Object) -> str:
        service = self.look.find(SERVICE, names.head_service(cluster))
        for port in (service or {}).get("spec", {}).get("ports") or ():
            if port.get("name") == "dashboard":
                return f"{names.head_address(cluster)}:{port['port']}"
        return ""


def _is_ready(cluster: Object) -> bool:
    is_ready = (cluster.get("status") or {}).get("state") == states.READY
    return is_ready and states.is_true(cluster, states.HEAD_READY)


def _from_milliseconds(milliseconds: int) -> str:
    return format_time(_EPOCH + timedelta(milliseconds=milliseconds))


_EPOCH = parse_time("1970-01-01T00:00:00Z")
