"""Keeps count, for each quota, of what the objects of its namespace use.

A quota is counted from the store when it is first asked for, and then kept by following changes, so
that a check costs what is under way and not what exists.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api.quantity import Quantity
from fleetqueue.apiserver.builtin.pod_resources import Amounts, read
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.quota import usage
from fleetqueue.apiserver.storage import Change, Stored

Object = Mapping[str, Any]

TABLE = "resourcequotas"
_ZERO = Quantity()


@dataclass(slots=True, eq=False)
class Account:
    """One quota with what is used of it."""

    key: str
    name: str
    hard: Amounts
    scopes: list[tuple[str, str, list[str]]]
    """(scope, operator, values), all of which an object must be in."""
    used: Amounts = field(default_factory=dict)
    promised: Amounts = field(default_factory=dict)
    """The same, with the writes that are still under way."""
    since: int = 0
    """The revision up to which writes count as promised."""
    failures: int = 0
    """How often the store had failed by then."""
    tables: dict[str, bool] = field(default_factory=dict)
    """Whether objects of a table can count here, for the tables that came up."""

    def covers(self, table: str) -> bool:
        known = self.tables.get(table)
        if known is None:
            known = any(usage.concerns(table, resource) for resource in self.hard)
            self.tables[table] = known
        return known

    def share(self, table: str, obj: Object, used: Amounts) -> Amounts:
        """The part of an object's usage that counts here."""
        if not self.covers(table) or not self.matches(table, obj):
            return {}
        return {name: amount for name, amount in used.items() if name in self.hard}

    def matches(self, table: str, obj: Object) -> bool:
        return all(usage.is_in_scope(table, obj, *scope) for scope in self.scopes)


class Ledger:
    """The accounts of one server, by namespace."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._accounts: dict[str, dict[str, Account]] = {}
        core.store.listen(self._follow)

    def accounts(self, namespace: str) -> list[Account]:
        """The quotas of a namespace, in the order of their names."""
        known = self._accounts.get(namespace)
        if known is None:
            table = self._core.store.table(TABLE)
            keys = table.select(f"{namespace}/") if table.live else []
            if not keys:
                return []
            known = self._accounts[namespace] = {}
            for key in keys:
                known[key] = self._open(namespace, self._core.store.decoded(table.live[key]))
        return [known[key] for key in sorted(known)]

    def account(self, key: str) -> Account | None:
        namespace = key.partition("/")[0]
        return next((a for a in self.accounts(namespace) if a.key == key), None)

    def promised(self, account: Account, namespace: str) -> Amounts:
        """What is used once everything that is under way is committed; not to be changed.

        Only what came since the last time is looked at, so that a burst costs what it holds.
        """
        store = self._core.store
        if account.failures != store.failures:
            account.promised, account.since = dict(account.used), store.revision
            account.failures = store.failures
        for proposal in store.under_way(account.since):
            if proposal.stored.key.startswith(f"{namespace}/"):
                after = None if proposal.is_delete else proposal.stored
                _add(account.promised, self._share(account, proposal.resource, after))
                _subtract(
                    account.promised, self._share(account, proposal.resource, proposal.before)
                )
        account.since = store.assigned
        return account.promised

    def _share(self, account: Account, table: str, stored: Stored | None) -> Amounts:
        if stored is None:
            return {}
        obj = self._core.store.decoded(stored)
        return account.share(table, obj, usage.usage_of(table, obj))

    # Keeping count

    def _open(self, namespace: str, quota: Object) -> Account:
        spec = quota.get("spec") or {}
        hard = read(spec.get("hard"))
        account = Account(
            f"{namespace}/{quota['metadata']['name']}",
            quota["metadata"]["name"],
            hard,
            list(_scopes(spec)),
            dict.fromkeys(hard, _ZERO),
        )
        for table in [table for table, _ in self._core.store.counts() if account.covers(table)]:
            held = self._core.store.table(table)
            for key in held.select(f"{namespace}/"):
                _add(account.used, self._share(account, table, held.live[key]))
        account.promised = dict(account.used)
        account.since, account.failures = self._core.store.revision, self._core.store.failures
        return account

    def _follow(self, changes: Sequence[Change]) -> None:
        if not self._accounts:
            return
        for change in changes:
            namespace, slash, _ = change.stored.key.rpartition("/")
            if not slash or namespace not in self._accounts:
                continue
            if change.resource == TABLE and _changes_terms(self._core, change):
                # Counted anew when it is next asked for; quotas change seldom.
                del self._accounts[namespace]
                continue
            for account in self._accounts[namespace].values():
                self._count(account, change)

    def _count(self, account: Account, change: Change) -> None:
        more = self._share(account, change.resource, change.after)
        less = self._share(account, change.resource, change.before)
        is_promised = change.revision <= account.since
        for total in (account.used,) if is_promised else (account.used, account.promised):
            _add(total, more)
            _subtract(total, less)


def _changes_terms(core: Core, change: Change) -> bool:
    """A quota came, went, or limits something else than before."""
    if change.before is None or change.after is None:
        return True
    before, after = core.store.decoded(change.before), core.store.decoded(change.after)
    return before.get("spec") != after.get("spec")


def _scopes(spec: Object) -> Iterator[tuple[str, str, list[str]]]:
    for scope in spec.get("scopes") or ():
        yield scope, "Exists", []
    for requirement in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        values = requirement.get("values") or []
        yield requirement.get("scopeName", ""), requirement.get("operator", ""), values


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, _ZERO) + amount


def _subtract(total: Amounts, less: Amounts) -> None:
    for name, amount in less.items():
        total[name] = total.get(name, _ZERO) - amount
