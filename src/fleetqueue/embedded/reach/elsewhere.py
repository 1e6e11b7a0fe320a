"""The pods of jobs that were sent away, as an API server asks for them: those on workers first,
then those of which nothing but their logs is left.
"""

from collections.abc import Sequence

from fleetqueue.api.meta import Key
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.elsewhere import Answer, PodElsewhere
from fleetqueue.apiserver.request import JSON, Response
from fleetqueue.apiserver.selection import fields_of
from fleetqueue.base.clock import Clock
from fleetqueue.embedded.reach import asking
from fleetqueue.embedded.reach.connecting import PodOnWorker
from fleetqueue.embedded.reach.kept import Kept
from fleetqueue.embedded.reach.kept_answers import KeptPod
from fleetqueue.embedded.reach.watching import watched
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.reach.dispatched import Dispatched


class Elsewhere:
    """What an embedded manager knows of its workers' pods."""

    def __init__(self, dispatched: Dispatched, kept: Kept, clock: Clock) -> None:
        self._dispatched = dispatched
        self._kept = kept
        self._clock = clock

    async def find(self, call: Call) -> PodElsewhere | None:
        return await self._find(Key(call.route.namespace, call.route.name))

    def shows(self, call: Call) -> bool:
        return asking.shows(call)

    async def read(self, call: Call, here: Answer) -> Response:
        if call.route.verb == "get":
            return await self._get(call, here)
        answer = await here()
        if call.route.verb == "watch":
            return watched(answer, lambda: self._select(call))
        listed = answer.decoded() if answer.content_type == JSON else None
        if not isinstance(listed, dict) or listed.get("kind") != "PodList":
            return answer
        return Response(object=asking.completed(listed, await self._select(call)))

    async def _get(self, call: Call, here: Answer) -> Response:
        try:
            answer = await here()
        except problems.ApiError as error:
            if error.code != 404:
                raise
            found = await self.find(call)
            if found is None:
                raise
            return Response(object=found.pod)
        pod = answer.decoded() if answer.content_type == JSON else None
        if not isinstance(pod, dict) or pod.get("kind") != "Pod" or asking.runs_here(pod):
            return answer
        found = await self.find(call)
        return answer if found is None else Response(object=found.pod)

    async def _find(self, key: Key) -> PodElsewhere | None:
        remote = await self._dispatched.find(key)
        if remote is not None:
            return PodOnWorker(remote)
        pod = self._kept.find(key)
        return None if pod is None else KeptPod(pod, self._kept, self._clock)

    async def _select(self, call: Call) -> Sequence[Object]:
        namespace, wanted = call.route.namespace, asking.label_selector(call)
        fields = fields_of(call)
        remote = await self._dispatched.select(namespace, wanted, fields)
        found = {str(each.pod["metadata"]["name"]): each.pod for each in remote}
        for pod in self._kept.select(namespace, wanted):
            if asking.fields_match(pod, fields):
                found.setdefault(str(pod["metadata"]["name"]), pod)
        return list(found.values())
