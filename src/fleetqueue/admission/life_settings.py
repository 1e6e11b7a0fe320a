"""What the configuration says about the life of workloads, read once."""

from dataclasses import dataclass
from datetime import timedelta

from fleetqueue.api.kueue import workload_names
from fleetqueue.api.kueue.admission_status import EXPLICIT, Wording


@dataclass(frozen=True, slots=True)
class PodsReadyRules:
    """How long pods may take to get ready, and how workloads come back that took too long."""

    timeout: timedelta = timedelta(minutes=30)
    recovery_timeout: timedelta | None = timedelta(minutes=30)
    """None: pods may take for ever to recover."""
    retries_max: int | None = None
    backoff_base_seconds: int = 60
    backoff_seconds_max: int = 3600


@dataclass(frozen=True, slots=True)
class LifeSettings:
    """Each field picks one of two behaviours; the defaults are those of Kueue."""

    pods_ready: PodsReadyRules | None = PodsReadyRules()
    after_finished: timedelta | None = None
    """How long finished workloads are kept; None: for ever."""
    wording: Wording = EXPLICIT
    explains_waiting: bool = True
    """UnadmittedWorkloadsObservability."""
    honors_gates: bool = True
    """AdmissionGatedBy."""
    says_at_once: bool = False
    """UnadmittedWorkloadsExplicitStatus: new workloads say that they wait."""
    finishes_orphans: bool = True
    mirrors_preemption_gates: bool = False
    """MultiKueueOrchestratedPreemption or ConcurrentAdmission."""
    workload_name_length_max: int = workload_names.LENGTH_MAX
