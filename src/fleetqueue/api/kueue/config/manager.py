"""The part of the configuration about the process itself: servers, election, clients."""

from typing import Annotated, Any

from fleetqueue.api.markers import Schema
from fleetqueue.api.meta import LabelSelector
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Duration, IntOrString


class Webhook(Model):
    """Where the API server calls back."""

    port: int = 9443
    host: str = ""
    cert_dir: str = ""


class LeaderElection(Model):
    """How replicas agree on the one that works."""

    leader_elect: bool | None = None
    lease_duration: Duration = "15s"
    renew_deadline: Duration = "10s"
    retry_period: Duration = "2s"
    resource_lock: str = "leases"
    resource_name: str = "c1f6bfd2.kueue.x-k8s.io"
    resource_namespace: str = ""


class LocalQueueMetrics(Model):
    """Metrics of LocalQueues, of all or of those that match."""

    enable: bool = True
    local_queue_selector: LabelSelector | None = None


class CustomLabel(Model):
    """A label of metrics that comes from a label or annotation of objects."""

    name: str
    source_label_key: str = ""
    source_annotation_key: str = ""
    source_kind: str = ""
    tracked_values: list[str] = []


class Metrics(Model):
    """What is measured, and where it can be read."""

    bind_address: str = ":8443"
    enable_cluster_queue_resources: bool = False
    local_queue_metrics: LocalQueueMetrics = LocalQueueMetrics()
    custom_labels: list[CustomLabel] = []


class Health(Model):
    """The probes of the process."""

    health_probe_bind_address: str = ":8081"
    readiness_endpoint_name: str = "readyz"
    liveness_endpoint_name: str = "healthz"


SYNC_TIMEOUT = "2m"


class ControllerOptions(Model):
    """How many objects of a kind are reconciled at once, and how long caches may take to fill."""

    group_kind_concurrency: dict[str, int] = {}
    cache_sync_timeout: IntOrString = SYNC_TIMEOUT
    """A bare number, as Go writes it, has nanoseconds; zero is as good as nothing."""

    @property
    def sync_span(self) -> str:
        limit = self.cache_sync_timeout
        span = f"{limit}ns" if isinstance(limit, int) else limit
        return SYNC_TIMEOUT if span in ("", "0", "0s", "0ns") else span


class TlsOptions(Model):
    """What the servers accept."""

    min_version: str = ""
    cipher_suites: list[str] = []
    curve_preferences: list[Any] = []


class InternalCertManagement(Model):
    """Certificates that the manager makes itself."""

    enable: bool = True
    webhook_service_name: str = "kueue-webhook-service"
    webhook_secret_name: str = "kueue-webhook-server-cert"


QPS, BURST = 300.0, 500


class ClientConnection(Model):
    """How fast the manager may ask the API server; a negative rate has no limit, and who says
    nothing has none either.
    """

    qps: float | None = None
    burst: int | None = None

    @property
    def rate(self) -> tuple[float, int] | None:
        """Calls in a second, and at once after a rest; what one of the two leaves open is 300 and
        500.
        """
        if not (self.qps or self.burst) or (self.qps or 0) < 0:
            return None
        return self.qps or QPS, self.burst or BURST


class VisibilityServer(Model):
    """Where the pending workloads can be read."""

    bind_address: str = "0.0.0.0"
    bind_port: int = 8082


Anything = Annotated[Any, Schema(preserve_unknown=True)]
