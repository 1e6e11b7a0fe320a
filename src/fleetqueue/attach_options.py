"""Which cluster is attached, how it reaches us, and what the configuration file says about the
process: where it listens, who leads, how fast it asks, what its servers demand.
"""

import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.api.kueue.config import tls as tls_settings
from fleetqueue.api.meta import Key
from fleetqueue.api.times import parse_duration
from fleetqueue.base.certificates import KeyKind
from fleetqueue.errors import InvalidInput
from fleetqueue.kube.allowance import Rate
from fleetqueue.kube.leader import JITTER, Terms
from fleetqueue.kube.tls import ORDINARY, ServerRules
from fleetqueue.kube.webhook_serving import Reach
from fleetqueue.kueue import KueueOptions
from fleetqueue.manager_deployment import Mounted

USUAL_CERTIFICATES = ("k8s-webhook-server", "serving-certs")


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """Which cluster, how it reaches our webhooks, and what runs."""

    kueue: KueueOptions
    kubeconfig: Path | None = None
    context: str = ""
    host: str = ""
    port: int | None = None
    """Where webhooks listen; as the configuration says where nothing is given."""
    url: str = ""
    """Where the API server finds us; "" : behind the Service in our namespace."""
    leads_alone: bool = False
    """No election: nobody else runs."""
    has_policy: bool = False
    """Install the policy that lets any field manager nominate workers."""
    image: str = ""
    replicas: int = 1
    """Of the Deployment to install; none without an image."""

    @property
    def namespace(self) -> str:
        return self.kueue.config.namespace or "kueue-system"

    @property
    def webhook_host(self) -> str:
        return self.host or self.kueue.config.webhook.host or "0.0.0.0"

    @property
    def webhook_port(self) -> int:
        return self.kueue.config.webhook.port if self.port is None else self.port

    @property
    def elects(self) -> bool:
        return not self.leads_alone and self.kueue.config.leader_election.leader_elect is not False

    @property
    def lease(self) -> Key:
        said = self.kueue.config.leader_election
        return Key(said.resource_namespace or self.namespace, said.resource_name)

    @property
    def terms(self) -> Terms:
        said = self.kueue.config.leader_election
        lease, renew, retry = map(
            parse_duration, (said.lease_duration, said.renew_deadline, said.retry_period)
        )
        if lease <= renew:
            raise InvalidInput("leaderElection: leaseDuration must be greater than renewDeadline")
        if renew <= retry * JITTER:
            text = f"renewDeadline must be greater than {JITTER} times retryPeriod"
            raise InvalidInput(f"leaderElection: {text}")
        return Terms(lease, renew, retry)

    @property
    def visibility_port(self) -> int:
        return self.kueue.config.visibility_server.bind_port

    @property
    def metrics_place(self) -> tuple[str, int] | None:
        return _place(self.kueue.config.metrics.bind_address)

    @property
    def probes_place(self) -> tuple[str, int] | None:
        return _place(self.kueue.config.health.health_probe_bind_address)

    @property
    def ready_path(self) -> str:
        return f"/{self.kueue.config.health.readiness_endpoint_name.lstrip('/')}"

    @property
    def alive_path(self) -> str:
        return f"/{self.kueue.config.health.liveness_endpoint_name.lstrip('/')}"

    @property
    def rate(self) -> Rate | None:
        """How often we call the API server at most; None: as often as we like."""
        said = self.kueue.config.client_connection.rate
        return None if said is None else Rate(*said)

    @property
    def sync_seconds_max(self) -> float:
        return parse_duration(self.kueue.config.controller.sync_span).total_seconds()

    @property
    def tls(self) -> ServerRules:
        """What our servers demand."""
        said = self.kueue.config.tls
        if said is None:
            return ORDINARY
        version = ssl.TLSVersion
        return ServerRules(
            version.TLSv1_3 if tls_settings.needs_newest(said) else version.TLSv1_2,
            tls_settings.suites(said),
            tls_settings.curve(said),
        )

    @property
    def key_kind(self) -> KeyKind | None:
        """Without which nobody could connect with the suites that are allowed; None: any."""
        said = self.kueue.config.tls
        if said is None or (tls_settings.fits_ecdsa(said) and tls_settings.fits_rsa(said)):
            return None
        return KeyKind.CURVE if tls_settings.fits_ecdsa(said) else KeyKind.RSA

    @property
    def certificate_folder(self) -> Path | None:
        """Where somebody else puts our certificate; None: we make our own."""
        config = self.kueue.config
        if config.internal_cert_management.enable:
            return None
        usual = Path(tempfile.gettempdir(), *USUAL_CERTIFICATES)
        return Path(config.webhook.cert_dir) if config.webhook.cert_dir else usual

    @property
    def mounted_certificate(self) -> Mounted | None:
        """For a Deployment: the Secret that somebody else fills, and the folder for it."""
        config = self.kueue.config
        if config.internal_cert_management.enable:
            return None
        folder = config.webhook.cert_dir or str(Path("/tmp", *USUAL_CERTIFICATES))
        return Mounted(config.internal_cert_management.webhook_secret_name, folder)

    @property
    def reach(self) -> Reach:
        service = self.kueue.config.internal_cert_management.webhook_service_name
        return Reach(self.url, service, self.namespace)


def _place(address: str) -> tuple[str, int] | None:
    """Host and port; None where nobody is to listen."""
    host, _, port = address.rpartition(":")
    return None if address in ("", "0") else (host.strip("[]") or "0.0.0.0", int(port))
