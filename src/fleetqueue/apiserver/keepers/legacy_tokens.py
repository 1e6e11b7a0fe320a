"""Fills secrets of type kubernetes.io/service-account-token, and removes those of lost accounts."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.apiserver.access import legacy_tokens
from fleetqueue.apiserver.access.jwt import SigningKey
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.deletes import Options
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.registry import Resource
from fleetqueue.apiserver.storage import Change, Stored

Object = dict[str, Any]

_MARK = legacy_tokens.SECRET_TYPE.encode()


class LegacyTokenKeeper(WorkingKeeper):
    """Woken by token secrets, and by service accounts that come, change or go."""

    work_name = "legacy tokens"
    tables = ("secrets", "serviceaccounts")

    def __init__(self, core: Core, internal: Internal, key: SigningKey, authority: bytes) -> None:
        super().__init__(core, internal)
        self._key = key
        self._authority = authority

    def start(self) -> None:
        for key, stored in list(self._core.store.table("secrets").live.items()):
            if _MARK in stored.data:
                self._work.add(key)

    def follow(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.resource == "secrets":
                if change.after is not None and _MARK in change.after.data:
                    self._work.add(change.stored.key)
            elif change.resource == "serviceaccounts":
                self._wake(change.stored)

    def _wake(self, account: Stored) -> None:
        namespace = account.key.partition("/")[0]
        table = self._core.store.table("secrets")
        for key in table.select(f"{namespace}/"):
            if _MARK in table.live[key].data:
                self._work.add(key)

    async def _attend(self, key: str) -> None:
        secret = self._core.get("secrets", key)
        if secret is None or secret.get("type") != legacy_tokens.SECRET_TYPE:
            return
        namespace, _, name = key.partition("/")
        account = self._account(secret, namespace)
        if account is None:
            options = Options(uid=secret["metadata"]["uid"])
            await self._internal.delete(self._secrets, namespace, name, options)
            return

        def become(obj: Object) -> None:
            filled = legacy_tokens.fill(obj, account, self._key, self._authority)
            if filled is not None:
                obj.update(filled)

        await self._internal.edit(self._secrets, namespace, name, become)

    def _account(self, secret: Object, namespace: str) -> Object | None:
        annotations = secret["metadata"].get("annotations") or {}
        name = annotations.get(legacy_tokens.NAME_ANNOTATION, "")
        account = self._core.get("serviceaccounts", f"{namespace}/{name}")
        if account is None or not legacy_tokens.belongs_to(secret, account):
            return None
        return account

    @property
    def _secrets(self) -> Resource:
        found = self._core.registry.by_table("secrets")
        assert found is not None
        return found
