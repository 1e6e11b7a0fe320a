"""What is asked of a foreign API server before anything is installed on it."""

import ssl
import tempfile
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fleetqueue import attached, installation, kueue
from fleetqueue.api.meta import Key
from fleetqueue.attached import AttachOptions
from fleetqueue.base import documents
from fleetqueue.base.certificates import KeyKind
from fleetqueue.base.clock import SystemClock
from fleetqueue.errors import InvalidInput, UserError
from fleetqueue.kube.allowance import PacedTransport, Rate
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.given_certificates import GivenCertificates
from fleetqueue.kube.leader import Terms
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.tls import ServerRules, server_context
from fleetqueue.kube.transport import Answer, Call, Payload, Stream
from fleetqueue.kube.webhook_certificates import CertificateKeeper
from fleetqueue.kueue import read_options

POLICIES = "/apis/admissionregistration.k8s.io/"


class Versions:
    """A server that has policies in these versions of their API."""

    def __init__(self, *served: str) -> None:
        self._served = served

    async def request(self, call: Call) -> Answer:
        if call.path.removeprefix(POLICIES) in self._served:
            name, kind = "mutatingadmissionpolicies", "MutatingAdmissionPolicy"
            page = {"resources": [{"name": name, "kind": kind, "namespaced": False}]}
            return Answer(200, Payload(shared=page))
        status = {"kind": "Status", "code": 404, "reason": "NotFound", "message": call.path}
        return Answer(404, Payload(shared=status))

    async def stream(self, call: Call) -> Stream:
        raise AssertionError

    async def close(self) -> None:
        """Nothing is open."""


def client(*served: str) -> Client:
    return Client(Versions(*served), random=Random(1))


@pytest.mark.rule("DISP-33")
@pytest.mark.parametrize(
    ("served", "chosen"),
    [(["v1", "v1beta1"], "v1"), (["v1beta1", "v1alpha1"], "v1beta1"), (["v1alpha1"], "v1alpha1")],
)
async def test_a_policy_is_made_in_the_best_version_there_is(
    served: list[str], chosen: str
) -> None:
    assert await attached.policy_version(client(*served)) == chosen


@pytest.mark.rule("DISP-33")
async def test_a_cluster_without_such_policies_is_told_what_it_lacks() -> None:
    with pytest.raises(UserError, match="the cluster serves no MutatingAdmissionPolicy"):
        await attached.policy_version(client())


def told(text: str, **parts: Any) -> AttachOptions:
    head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    return AttachOptions(read_options(f"{head}{text}\n"), **parts)


def electing(text: str) -> AttachOptions:
    return told(f"leaderElection: {text}")


@pytest.mark.rule("kueue 10.1", "HAR-5")
def test_the_configuration_says_how_a_leader_is_elected() -> None:
    options = electing(
        "{leaderElect: true, leaseDuration: 4s, renewDeadline: 3s, retryPeriod: 1s,"
        " resourceName: other, resourceNamespace: elsewhere}"
    )

    assert options.elects
    assert options.lease == Key("elsewhere", "other")
    assert options.terms == Terms(*(timedelta(seconds=each) for each in (4, 3, 1)))


@pytest.mark.rule("HAR-3", "multikueue 11.1")
def test_what_a_program_wrote_back_as_zero_was_never_said() -> None:
    options = electing(
        "{leaderElect: null, leaseDuration: 0s, renewDeadline: 0s, retryPeriod: 0s,"
        ' resourceLock: "", resourceName: "", resourceNamespace: ""}'
    )

    assert options.elects
    assert options.lease == Key("kueue-system", "c1f6bfd2.kueue.x-k8s.io")
    assert options.terms == Terms()


@pytest.mark.rule("kueue 10.1")
def test_nobody_is_elected_where_the_configuration_says_so() -> None:
    assert not electing("{leaderElect: false}").elects


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(
    ("spans", "text"),
    [
        ("{leaseDuration: 5s, renewDeadline: 5s}", "leaseDuration must be greater than"),
        ("{renewDeadline: 2s, retryPeriod: 2s}", "renewDeadline must be greater than 1.2 times"),
    ],
)
def test_spans_that_no_leader_could_keep_are_refused(spans: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        assert electing(spans).terms


@pytest.mark.rule("HAR-4", "multikueue 11.1")
def test_the_file_of_the_config_map_has_what_programs_add_to() -> None:
    """And they find it again when they have written the whole of it back."""
    options = electing("{leaderElect: true}")
    found = documents.load(attached.wanted(options).config)

    assert found["featureGates"] == {}
    assert found["integrations"]["frameworks"] == ["batch/job"]
    found["featureGates"]["PartialAdmission"] = False
    changed = AttachOptions(read_options(documents.dump(found)))
    assert documents.load(attached.wanted(changed).config) == found


@pytest.mark.rule("kueue 10.1")
async def test_jobs_that_are_no_longer_queued_pass_webhooks_that_are_still_registered() -> None:
    """Who changes the file and starts us anew leaves the registrations as they were."""
    before = told("integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}")
    after = told("integrations: {frameworks: [jobset.x-k8s.io/jobset]}")
    registered = [
        hook["clientConfig"]["service"]["path"]
        for made in installation.objects(attached.wanted(before))
        for hook in made.get("webhooks") or ()
    ]
    cluster = Cluster(client(), clock=SystemClock(), random=Random(1), component="tests")

    webhooks = attached.webhooks_of(after, cluster, SystemClock())

    assert set(registered) <= set(webhooks.paths)
    assert {"/mutate-batch-v1-job", "/validate-batch-v1-job"} <= set(registered)


# What else the file says about the process

NEW, OLD = ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2
RSA = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
ECDSA = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"


@pytest.mark.rule("kueue 10.1", "HAR-5")
@pytest.mark.parametrize(
    ("text", "rules", "key"),
    [
        ("", ServerRules(OLD), None),
        ("tls: {}", ServerRules(OLD, [], ""), None),
        ("tls: {minVersion: VersionTLS12}", ServerRules(OLD, [], ""), None),
        ("tls: {minVersion: VersionTLS13}", ServerRules(NEW, [], ""), None),
        (f"tls: {{cipherSuites: [{RSA}]}}",
         ServerRules(OLD, ["ECDHE-RSA-AES128-GCM-SHA256"], ""), KeyKind.RSA),
        (f"tls: {{cipherSuites: [{ECDSA}]}}",
         ServerRules(OLD, ["ECDHE-ECDSA-CHACHA20-POLY1305"], ""), KeyKind.CURVE),
        (f"tls: {{cipherSuites: [{RSA}, {ECDSA}, {RSA}]}}",
         ServerRules(OLD, ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"], ""),
         None),
        ("tls: {cipherSuites: [TLS_AES_128_GCM_SHA256]}", ServerRules(NEW, [], ""), None),
        ("tls: {curvePreferences: [24]}", ServerRules(OLD, [], "secp384r1"), None),
        ("tls: {curvePreferences: [X25519]}", ServerRules(OLD, [], "X25519"), None),
    ],
)  # fmt: skip
def test_servers_demand_what_the_file_says(
    text: str, rules: ServerRules, key: KeyKind | None
) -> None:
    options = told(text)

    assert options.tls.minimum is rules.minimum
    assert list(options.tls.suites) == list(rules.suites)
    assert options.tls.curve == rules.curve
    assert options.key_kind is key
    assert isinstance(server_context(options.tls), ssl.SSLContext)


@pytest.mark.rule("kueue 10.1")
def test_all_servers_are_as_strict() -> None:
    options = told("tls: {minVersion: VersionTLS13}")
    cluster = Cluster(client(), clock=SystemClock(), random=Random(1), component="tests")
    made = kueue.install(Manager(cluster, random=Random(1)), options.kueue)
    keeper = attached.certificates(options, cluster.client, SystemClock())
    webhooks = attached.webhook_server(options, cluster, SystemClock(), keeper)
    pages = attached.page_servers(options, cluster.client, SystemClock(), keeper, made)

    servers: list[Any] = [webhooks, *pages.values()]
    assert len(servers) == 3
    assert {each._context.minimum_version for each in servers} == {NEW}


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("webhook: {certDir: /certs}", None),
        ("internalCertManagement: {enable: false}",
         Path(tempfile.gettempdir(), "k8s-webhook-server", "serving-certs")),
        ("internalCertManagement: {enable: false}\nwebhook: {certDir: /certs}", Path("/certs")),
    ],
)  # fmt: skip
async def test_certificates_are_made_unless_others_do(text: str, folder: Path | None) -> None:
    options = told(text)
    made = attached.certificates(options, client(), SystemClock())

    assert options.certificate_folder == folder
    assert isinstance(made, CertificateKeeper if folder is None else GivenCertificates)


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: here}}]
clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: here, user: {}}]
"""


@pytest.mark.rule("kueue 10.1", "HAR-5")
@pytest.mark.parametrize(
    ("text", "paced"),
    [
        ("", [False]),
        ("clientConnection: {qps: -1}", [False]),
        ("clientConnection: {qps: 20, burst: 30}", [True, False]),
    ],
)
async def test_only_controllers_are_held_back_and_only_where_the_file_says_so(
    tmp_path: Path, text: str, paced: list[bool]
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)

    clients = attached.open_clients(told(text, kubeconfig=file))

    assert [isinstance(each.transport.transport, PacedTransport) for each in clients] == paced
    for each in clients:
        await each.close()


@pytest.mark.rule("kueue 10.1")
def test_the_rate_is_the_one_of_the_file() -> None:
    assert told("clientConnection: {qps: 20, burst: 30}").rate == Rate(20.0, 30)


@pytest.mark.rule("kueue 10.1")
def test_caches_may_take_as_long_as_the_file_says() -> None:
    assert told("").sync_seconds_max == 120.0
    assert told("controller: {cacheSyncTimeout: 30s}").sync_seconds_max == 30.0
    assert told("controller: {cacheSyncTimeout: 5000000000}").sync_seconds_max == 5.0


@pytest.mark.rule("kueue 10.1")
@pytest.mark.parametrize(
    ("text", "alive", "ready"),
    [
        ("", ["/healthz", "/livez"], "/readyz"),
        ("health: {readinessEndpointName: up}", ["/healthz", "/livez"], "/up"),
        ("health: {readinessEndpointName: livez}", ["/healthz"], "/livez"),
        ("health: {livenessEndpointName: /well}", ["/well"], "/readyz"),
    ],
)
def test_probes_are_answered_at_the_names_of_the_file(
    text: str, alive: list[str], ready: str
) -> None:
    server = attached.health_server(told(text), lambda: True)

    assert server is not None
    routes = {each.canonical: each for each in server.application().router.resources()}
    assert list(routes) == [*alive, ready]


@pytest.mark.rule("kueue 10.1")
def test_nobody_answers_probes_where_the_file_says_so() -> None:
    assert attached.health_server(told("health: {healthProbeBindAddress: '0'}"), bool) is None
