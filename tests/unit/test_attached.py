"""What is asked of a foreign API server before anything is installed on it."""

from datetime import timedelta
from random import Random

import pytest

from fleetqueue import attached
from fleetqueue.api.meta import Key
from fleetqueue.attached import AttachOptions
from fleetqueue.base import documents
from fleetqueue.errors import InvalidInput, UserError
from fleetqueue.kube.client import Client
from fleetqueue.kube.leader import Terms
from fleetqueue.kube.transport import Answer, Call, Payload, Stream
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


def electing(text: str) -> AttachOptions:
    head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    return AttachOptions(read_options(f"{head}leaderElection: {text}\n"))


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
