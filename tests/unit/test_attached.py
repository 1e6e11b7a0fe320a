"""What is asked of a foreign API server before anything is installed on it."""

from random import Random

import pytest

from fleetqueue import attached
from fleetqueue.errors import UserError
from fleetqueue.kube.client import Client
from fleetqueue.kube.transport import Answer, Call, Payload, Stream

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
