"""What people see of a queue: the answers of its groups, and its metrics, asked as some user."""

import re
from collections.abc import Mapping
from typing import Any

from fleetqueue.admission import visibility
from fleetqueue.api.kueue.roles import roles
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.kube.resources import Object
from support.kueue import Kueue

MASTER = User("admin", groups=("system:masters",))
GROUP = "/apis/visibility.kueue.x-k8s.io"
OWN = "/apis/visibility.fleetqueue.io/v1alpha1"
_SERIES = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")


class Looking:
    """A cluster that shows what waits on it, and what is measured."""

    def __init__(self, kueue: Kueue) -> None:
        self.kueue = kueue
        made, instance = kueue.admission, kueue.cluster.instance
        assert made is not None
        for group in visibility.groups(made.ledger, made.scheduler):
            instance.core.extensions.add(group)
        instance.pages.metrics.append(made.metrics.exposed)

    async def ask(
        self, path: str, user: User = MASTER, method: str = "GET", **query: str
    ) -> Response:
        wanted = {name: [value] for name, value in query.items()}
        return await self.kueue.cluster.instance.handle(Request(method, path, wanted, user=user))

    async def read(self, path: str, user: User = MASTER, **query: str) -> Any:
        return (await self.ask(path, user, **query)).decoded()

    async def pending(self, queue: str = "queue", version: str = "v1beta2") -> list[Object]:
        found = await self.read(f"{GROUP}/{version}/clusterqueues/{queue}/pendingworkloads")
        items: list[Object] = found["items"]
        return items

    async def metrics(self) -> "Series":
        text = (await self.ask("/metrics")).encoded().decode()
        return Series(read_series(text))

    async def make_roles(self) -> None:
        for role in roles([]):
            await self.kueue.client.create(role)
        await self.kueue.fleet.settle()

    async def bind(self, user: str, role: str) -> User:
        """A user with a cluster role, everywhere."""
        await self.kueue.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"{user}-{role}"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": role,
                },
                "subjects": [
                    {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
                ],
            }
        )
        return User(user, groups=("system:authenticated",))


class Series(dict[str, list[tuple[Mapping[str, str], float]]]):
    """By metric, its series: labels and value."""

    def value(self, metric: str, /, **labels: str) -> float | None:
        """The value of the one series that has these labels; None where there is none."""
        found = [
            value
            for known, value in self.get(f"kueue_{metric}", ())
            if labels.items() <= known.items()
        ]
        assert len(found) < 2, found
        return found[0] if found else None

    def of(self, **labels: str) -> set[str]:
        """The metrics that have a series with these labels."""
        return {
            name.removeprefix("kueue_")
            for name, series in self.items()
            for known, _ in series
            if labels.items() <= known.items()
        }


def read_series(text: str) -> dict[str, list[tuple[Mapping[str, str], float]]]:
    found: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            match = _SERIES.match(line)
            assert match is not None, line
            labels = dict(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
            found.setdefault(match[1], []).append((labels, float(match[3])))
    return found
