"""Asks the dispatcher: gathers what is known of every worker that a workload could go to."""

from collections.abc import Sequence
from functools import partial

from fleetqueue.api.meta import Key
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.dispatcher import Candidate, Dispatcher, Nomination, Offer
from fleetqueue.multikueue.flow.situation import Site
from fleetqueue.multikueue.preflight import (
    Facts,
    Needed,
    Problems,
    namespace_of,
    needed_by,
    problems_of,
)
from fleetqueue.multikueue.rounds import Rounds
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.standing import Standing, standings
from fleetqueue.multikueue.stock import Stock
from fleetqueue.multikueue.workers import Worker, Workers


class Offers:
    """One for all workloads."""

    def __init__(
        self,
        cluster: Cluster,
        source: Source,
        workers: Workers,
        dispatcher: Dispatcher,
        settings: DispatchSettings,
    ) -> None:
        self._clock = cluster.clock
        self._source = source
        self._workers = workers
        self._dispatcher = dispatcher
        self._settings = settings
        self._stock = Stock(cluster.clock)
        self._rounds = Rounds()

    async def learn(self, jobs: Sequence[Object], sites: Sequence[Site]) -> None:
        """Finds out whether the workers have what a job names, where it names anything, and its
        namespace, where no queue of theirs is in it.
        """
        found = [self._workers.get(site.name) for site in sites if site.is_connected]
        asked = [each for each in found if each is not None]
        for needed in needed_by(jobs[0]):
            await self._stock.look(needed, asked)
        space = namespace_of(jobs[0])
        await self._stock.look(space, asked, partial(_shows_namespace, space.key.name))

    def ask(
        self, workload: Object, adapter: Adapter, jobs: Sequence[Object], sites: Sequence[Site]
    ) -> Nomination:
        offer = Offer(
            workload,
            [self._candidate(workload, site, adapter, jobs) for site in sites],
            nominated=(workload.get("status") or {}).get("nominatedClusterNames") or (),
            round_started=self._rounds.started(workload),
            now=self._clock.now(),
            settings=self._settings,
        )
        return self._dispatcher.nominate(offer)

    def forget(self, key: Key) -> None:
        """The workload is gone."""
        self._rounds.forget(key)

    def standings(
        self, workload: Object, adapter: Adapter, jobs: Sequence[Object], sites: Sequence[Site]
    ) -> list[Standing]:
        """What each worker says to the workload, and what keeps the others from getting it."""
        copies = {site.name: site.copy for site in sites if site.copy is not None}
        problems = {
            site.name: self._candidate(workload, site, adapter, jobs).problems
            for site in sites
            if site.copy is None
        }
        return standings(copies, problems)

    def _candidate(
        self, workload: Object, site: Site, adapter: Adapter, jobs: Sequence[Object]
    ) -> Candidate:
        cluster = self._source.get(kinds.CLUSTER, "", site.name)
        labels = {} if cluster is None else cluster["metadata"].get("labels") or {}
        worker = self._workers.get(site.name)
        if worker is None or not worker.is_connected:
            facts = Facts(site.name, is_connected=False)
        else:
            facts = self._facts(worker, adapter, jobs)
        return Candidate(
            site.name,
            is_connected=facts.is_connected,
            takes_kind=facts.takes_kind is not False and not facts.absent,
            labels=labels,
            copy=site.copy,
            cluster_queues=facts.cluster_queues,
            local_queues=facts.local_queues,
            problems=Problems(partial(problems_of, workload, adapter.title, facts)),
        )

    def _facts(self, worker: Worker, adapter: Adapter, jobs: Sequence[Object]) -> Facts:
        return Facts(
            worker.name,
            takes_kind=worker.follows(adapter.resource),
            has_namespace=self._has_namespace(worker, namespace_of(jobs[0])),
            local_queues=worker.queues(kinds.LOCAL_QUEUE, key_of(jobs[0]).namespace),
            cluster_queues=worker.queues(kinds.CLUSTER_QUEUE),
            absent=[each for each in needed_by(jobs[0]) if self._stock.lacks(worker.name, each)],
        )

    def _has_namespace(self, worker: Worker, space: Needed) -> bool | None:
        """It may have come since it was asked for, and then a queue in it tells."""
        is_lacking = self._stock.lacks(worker.name, space)
        return False if is_lacking and not _shows_namespace(space.key.name, worker) else None


def _shows_namespace(namespace: str, worker: Worker) -> bool:
    """A worker whose queues nobody may read is believed, too."""
    queues = worker.queues(kinds.LOCAL_QUEUE, namespace)
    return queues is None or bool(queues)
