"""What clients ask of running pods through the API server: one door to logs, exec, attach,
port-forward and proxy.
"""

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.request import Response
from fleetqueue.embedded import commands, forwarding, log_answers, proxying
from fleetqueue.embedded.places import Places
from fleetqueue.kube.resources import Object


class Connections:
    """Answers for the pods of this process; an API server gets it as its runtime."""

    def __init__(self, places: Places) -> None:
        self._places = places

    async def connect(self, call: Call, pod: Object, user: User) -> Response:
        kind = call.route.subresource
        if call.resource.plural == "nodes":
            raise problems.service_unavailable(
                f'node "{call.route.name}" has no server of its own: ask for its pods instead'
            )
        if kind == "log":
            return await log_answers.answer(call, pod, self._places)
        if call.resource.plural == "services":
            return await proxying.answer(call, pod, self._places)
        if self._places.is_simulated(pod):
            raise problems.bad_request(
                f"pod {pod['metadata']['name']} is simulated: it has no process to connect to"
            )
        if kind == "proxy":
            return await proxying.answer(call, pod, self._places)
        if kind == "portforward":
            return await forwarding.answer(call, pod, self._places)
        return await commands.answer(call, pod, self._places)
