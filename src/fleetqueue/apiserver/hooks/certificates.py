"""CertificateSigningRequests: who asks is noted, and only those who may do approve and sign."""

from base64 import b64decode
from typing import Any

from fleetqueue.apiserver.access.attributes import Attributes
from fleetqueue.apiserver.access.gate import Gate
from fleetqueue.apiserver.access.users import MASTERS, user_info
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Hook, Operation
from fleetqueue.apiserver.hooks.refusals import refuse

Object = dict[str, Any]

GROUP = "certificates.k8s.io"
RESOURCE = "certificatesigningrequests"
CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


class Certificates(Hook):
    """Looks at every write of a CertificateSigningRequest."""

    resources = ((GROUP, RESOURCE),)

    def __init__(self, core: Core, gate: Gate) -> None:
        self._core = core
        self._gate = gate

    def mutate(self, operation: Operation) -> None:
        if operation.resource != RESOURCE or operation.group != GROUP or operation.obj is None:
            return
        if operation.verb == "CREATE":
            _note_author(operation)
        elif operation.subresource in ("approval", "status"):
            _note_times(operation, self._core.now())

    def validate(self, operation: Operation) -> None:
        if operation.resource != RESOURCE or operation.group != GROUP or operation.obj is None:
            return
        if operation.subresource == "approval":
            self._check(operation, "approve")
        elif operation.subresource == "status":
            status, before = _status(operation.obj), _status(operation.old or {})
            if any(status.get(n) != before.get(n) for n in ("certificate", "conditions")):
                self._check(operation, "sign")
        elif not operation.subresource:
            if operation.verb == "CREATE":
                # Whatever a webhook made of it.
                _note_author(operation)
            _check_subject(operation)

    def _check(self, operation: Operation, verb: str) -> None:
        signer = ((operation.old or {}).get("spec") or {}).get("signerName") or ""
        domain = signer.partition("/")[0]
        for name in (signer, f"{domain}/*"):
            asked = Attributes(operation.call.user, verb, GROUP, "*", "signers", name=name)
            if self._gate.rbac.allowed(asked).allowed:
                return
        why = f'user not permitted to {verb} requests with signerName "{signer}"'
        raise refuse(operation, why)


def _status(obj: Object) -> Object:
    found: Object = obj.get("status") or {}
    return found


def _note_author(operation: Operation) -> None:
    assert operation.obj is not None
    spec = operation.obj.setdefault("spec", {})
    for name in ("username", "uid", "groups", "extra"):
        spec.pop(name, None)
    spec.update(user_info(operation.call.user))


def _note_times(operation: Operation, now: str) -> None:
    """A condition says when it came and when it last changed its status."""
    assert operation.obj is not None
    before = {c.get("type"): c for c in _status(operation.old or {}).get("conditions") or ()}
    for condition in _status(operation.obj).get("conditions") or ():
        known = before.get(condition.get("type"))
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            is_same = known is not None and known.get("status") == condition.get("status")
            since = known.get("lastTransitionTime") if known is not None and is_same else None
            condition["lastTransitionTime"] = since or now


def _check_subject(operation: Operation) -> None:
    assert operation.obj is not None
    spec = operation.obj.get("spec") or {}
    if spec.get("signerName") != CLIENT_SIGNER:
        return
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    request = x509.load_pem_x509_csr(b64decode(spec.get("request") or ""))
    groups = request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    if any(group.value == MASTERS for group in groups):
        why = f"use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
        raise refuse(operation, why)
