"""Keeps the status of each ResourceQuota: what is allowed and how much of it is used."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.apiserver.builtin.pod_resources import Amounts, read
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.quota.ledger import TABLE, Account, Ledger
from fleetqueue.apiserver.storage import Change

Object = dict[str, Any]


class QuotaKeeper(WorkingKeeper):
    """Woken by quotas, and by whatever comes and goes in a namespace that has one."""

    work_name = "quotas"

    def __init__(self, core: Core, internal: Internal, ledger: Ledger) -> None:
        super().__init__(core, internal)
        self._ledger = ledger

    def start(self) -> None:
        for key in list(self._core.store.table(TABLE).live):
            self._work.add(key)

    def follow(self, changes: Sequence[Change]) -> None:
        if not self._core.store.table(TABLE).live:
            return
        for change in changes:
            namespace, slash, _ = change.stored.key.rpartition("/")
            if not slash:
                continue
            for account in self._ledger.accounts(namespace):
                if change.resource == TABLE or account.covers(change.resource):
                    self._work.add(account.key)

    async def _attend(self, key: str) -> None:
        account, quota = self._ledger.account(key), self._core.get(TABLE, key)
        if account is None or quota is None or "deletionTimestamp" in quota["metadata"]:
            return
        if _is_told(quota.get("status") or {}, account):
            return

        def tell(obj: Object) -> None:
            obj["status"] = {"hard": _texts(account.hard), "used": _texts(account.used)}

        resource = self._core.registry.by_table(TABLE)
        assert resource is not None
        namespace, _, name = key.partition("/")
        await self._internal.edit_status(resource, namespace, name, tell)


def _is_told(status: Object, account: Account) -> bool:
    return read(status.get("hard")) == account.hard and read(status.get("used")) == account.used


def _texts(amounts: Amounts) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}
