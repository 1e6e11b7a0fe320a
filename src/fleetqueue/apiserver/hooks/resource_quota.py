"""Refuses what would use more than a quota allows, counting also what is still under way."""

from typing import Any

from fleetqueue.api.quantity import Quantity
from fleetqueue.apiserver.builtin.pod_resources import Amounts
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.hooks.refusals import refuse
from fleetqueue.apiserver.quota import usage
from fleetqueue.apiserver.quota.ledger import Account, Ledger

Object = dict[str, Any]

_ZERO = Quantity()


class ResourceQuotas(Hook):
    """Looks last at what is created or changed in a namespace that has a quota."""

    def __init__(self, core: Core) -> None:
        self.ledger = Ledger(core)

    def validate(self, operation: Operation) -> None:
        if operation.verb not in ("CREATE", "UPDATE") or not operation.namespace:
            return
        if operation.obj is None:
            return
        accounts = self.ledger.accounts(operation.namespace)
        if not accounts or not _is_counted(operation):
            return
        for account, asked in self._charges(operation, accounts):
            self._check(operation, account, asked)

    def _charges(
        self, operation: Operation, accounts: list[Account]
    ) -> list[tuple[Account, Amounts]]:
        """What each quota is asked for; a pod that does not say what it needs is refused first."""
        obj, table = operation.obj, operation.call.resource.table
        assert obj is not None
        used = usage.usage_of(table, obj)
        before = usage.usage_of(table, operation.old) if operation.old else {}
        charges = []
        for account in accounts:
            if not account.covers(table) or not account.matches(table, obj):
                continue
            if table == "pods":
                _check_said(operation, account)
            asked = account.share(table, obj, used)
            if operation.old and account.matches(table, operation.old):
                asked = {name: amount - before.get(name, _ZERO) for name, amount in asked.items()}
            asked = {name: amount for name, amount in asked.items() if amount.sign() > 0}
            if asked:
                charges.append((account, asked))
        return charges

    def _check(self, operation: Operation, account: Account, asked: Amounts) -> None:
        used = self.ledger.promised(account, operation.namespace)
        over = [n for n in asked if used.get(n, _ZERO) + asked[n] > account.hard[n]]
        if over:
            why = (
                f"exceeded quota: {account.name}, requested: {_shown(asked, over)}, "
                f"used: {_shown(used, over)}, limited: {_shown(account.hard, over)}"
            )
            raise refuse(operation, why)


def _is_counted(operation: Operation) -> bool:
    """Of most kinds only the creation counts, for nothing else of them is measured."""
    table, part = operation.call.resource.table, operation.subresource
    if operation.verb == "CREATE":
        return not part
    if table == "pods":
        if part == "resize":
            return True
        assert operation.obj is not None
        assert operation.old is not None
        new, old = operation.obj["spec"], operation.old["spec"]
        return not part and usage.is_terminating(new) != usage.is_terminating(old)
    measured = ("services", "persistentvolumeclaims", "resourceclaims.resource.k8s.io")
    return not part and table in measured


def _check_said(operation: Operation, account: Account) -> None:
    assert operation.obj is not None
    required = set(account.hard) & usage.MUST_BE_SAID
    if required and (why := usage.unsaid(operation.obj["spec"], required)):
        raise refuse(operation, f"failed quota: {account.name}: {why}")


def _shown(amounts: Amounts, names: list[str]) -> str:
    return ",".join(f"{name}={amounts.get(name, _ZERO)}" for name in sorted(names))
