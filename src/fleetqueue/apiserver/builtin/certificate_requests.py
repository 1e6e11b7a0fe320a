"""CertificateSigningRequests: what may be asked for, approved and issued, and where."""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, wrongs
from fleetqueue.apiserver.builtin.making import kind, part, text
from fleetqueue.apiserver.merge import field_sets
from fleetqueue.apiserver.strategy import Aspect, Object, Strategy

GROUP = "certificates.k8s.io"
LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
SECONDS_MIN = 600
USAGES = frozenset(
    {
        "any",
        "cert sign",
        "client auth",
        "code signing",
        "content commitment",
        "crl sign",
        "data encipherment",
        "decipher only",
        "digital signature",
        "email protection",
        "encipher only",
        "ipsec end system",
        "ipsec tunnel",
        "ipsec user",
        "key agreement",
        "key encipherment",
        "microsoft sgc",
        "netscape sgc",
        "ocsp signing",
        "s/mime",
        "server auth",
        "signing",
        "timestamping",
    }
)
_DECISIONS = ("Approved", "Denied")
_KEPT = ("Approved", "Denied", "Failed")
EXCLUSIVE = "Approved and Denied conditions are mutually exclusive"


def prepare_request(obj: Object) -> None:
    obj.pop("status", None)


def prepare_request_update(obj: Object, old: Object) -> None:
    obj["spec"] = old.get("spec") or {}


def validate_request(obj: Object, old: Object | None) -> Errors:
    errors = _validate_spec(part(obj, "spec")) + _validate_conditions(obj, old)
    return errors if old is None else errors + _validate_update(obj, old)


def validate_approval(obj: Object, old: Object) -> Errors:
    errors = _validate_spec(part(obj, "spec")) + _validate_conditions(obj, old)
    return errors + _validate_update(obj, old, may_decide=True)


def validate_issue(obj: Object, old: Object) -> Errors:
    errors = _validate_spec(part(obj, "spec")) + _validate_conditions(obj, old)
    errors += _validate_certificate(obj)
    return errors + _validate_update(obj, old, may_issue=True)


def approve_only(obj: Object, old: Object) -> Object:
    """Only the conditions count."""
    status = dict(old.get("status") or {})
    status.pop("conditions", None)
    if conditions := part(obj, "status").get("conditions"):
        status["conditions"] = conditions
    return {**old, "metadata": obj["metadata"], "status": status}


def _validate_spec(spec: Mapping[str, Any]) -> Errors:
    errors = _validate_pem(spec.get("request") or "")
    usages = spec.get("usages") or []
    if not usages:
        errors.append(fields.required("spec.usages"))
    for index, usage in enumerate(usages):
        if usage not in USAGES:
            path = f"spec.usages[{index}]"
            errors.append(fields.unsupported(path, usage, sorted(USAGES)))
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            errors.append(fields.duplicate(f"spec.usages[{index}]", usage))
    errors += validate_signer_name(spec.get("signerName") or "", "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SECONDS_MIN:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(fields.wrong("spec.expirationSeconds", seconds, why))
    return errors


def _validate_pem(request: str) -> Errors:
    # Slow to load, and most servers never see such a request.
    from cryptography import x509

    data = b64decode(request)
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in data:
        why = "PEM block type must be CERTIFICATE REQUEST"
        return [fields.wrong("spec.request", request or None, why)]
    try:
        parsed = x509.load_pem_x509_csr(data)
        is_signed = parsed.is_signature_valid
    except ValueError as error:
        return [fields.wrong("spec.request", request, str(error))]
    if not is_signed:
        return [fields.wrong("spec.request", request, "x509: signature is not valid")]
    return []


def validate_signer_name(name: str, path: str) -> Errors:
    if not name:
        return [fields.required(path)]
    if name == LEGACY_SIGNER:
        why = "the legacy signerName is not allowed via this API version"
        return [fields.wrong(path, name, why)]
    segments = name.split("/")
    if len(segments) != 2:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [fields.wrong(path, name, why)]
    domain, rest = segments
    if found := names.dns1123_subdomain(domain):
        return wrongs(path, domain, [f"validating label {domain!r}: {m}" for m in found])
    if "." not in domain:
        why = "should be a domain with at least two segments separated by dots"
        return [fields.wrong(path, domain, why)]
    errors: Errors = []
    for message in names.dns1123_subdomain(rest):
        errors.append(fields.wrong(path, rest, message))
    return errors


def _validate_conditions(obj: Object, old: Object | None) -> Errors:
    path, errors, seen = "status.conditions", [], set[str]()
    for index, condition in enumerate(part(obj, "status").get("conditions") or ()):
        of, status = condition.get("type", ""), condition.get("status", "")
        at = f"{path}[{index}]"
        if not of:
            errors.append(fields.required(f"{at}.type"))
        allowed = ("True",) if of in _KEPT else ("False", "True", "Unknown")
        if not status:
            errors.append(fields.required(f"{at}.status"))
        elif status not in allowed:
            errors.append(fields.unsupported(f"{at}.status", status, allowed))
        if of in _DECISIONS and seen & (set(_DECISIONS) - {of}):
            errors.append(fields.wrong(path, of, EXCLUSIVE))
        if of in seen:
            errors.append(fields.duplicate(f"{at}.type", of))
        seen.add(of)
    return errors


def _validate_certificate(obj: Object) -> Errors:
    from cryptography import x509

    text_ = part(obj, "status").get("certificate")
    if not text_:
        return []
    try:
        found = x509.load_pem_x509_certificates(b64decode(text_))
    except ValueError:
        found = []
    if found:
        return []
    why = "must contain at least one CERTIFICATE PEM block"
    return [fields.wrong("status.certificate", "<certificate data>", why)]


def _validate_update(
    obj: Object, old: Object, *, may_decide: bool = False, may_issue: bool = False
) -> Errors:
    errors: Errors = []
    path = "status.conditions"
    for of in _KEPT:
        new, was = _conditions(obj, of), _conditions(old, of)
        if len(new) < len(was):
            why = f'updates may not remove a condition of type "{of}"'
            errors.append(fields.forbidden(path, why))
        elif of in _DECISIONS and not may_decide and len(new) > len(was):
            why = f'updates may not add a condition of type "{of}"'
            errors.append(fields.forbidden(path, why))
    new_text, old_text = (part(o, "status").get("certificate") or "" for o in (obj, old))
    if new_text != old_text:
        if not may_issue:
            why = "updates may not set certificate content"
            errors.append(fields.forbidden("status.certificate", why))
        elif old_text:
            why = "updates may not modify existing certificate content"
            errors.append(fields.forbidden("status.certificate", why))
    return errors


def _conditions(obj: Object, of: str) -> list[Mapping[str, Any]]:
    listed = part(obj, "status").get("conditions") or []
    return [condition for condition in listed if condition.get("type") == of]


def _keep_decisions(obj: Object, old: Object) -> None:
    """A signer reports what it did; decisions stay as they were made."""
    listed = part(obj, "status").get("conditions")
    if not listed:
        return
    for of in _DECISIONS:
        before = iter(_conditions(old, of))
        for condition in listed:
            if condition.get("type") == of:
                condition.update(next(before, condition))


STRATEGIES: dict[tuple[str, str], Strategy] = {
    (GROUP, "CertificateSigningRequest"): kind(
        validate_request,
        prepare_create=prepare_request,
        prepare_update=prepare_request_update,
        prepare_status=_keep_decisions,
        reset=field_sets.of(("spec",), ("status",)),
        validate_status=validate_issue,
        validate_name=lambda name, is_prefix: [],
        fields={"spec.signerName": text("spec", "signerName")},
        aspects={
            "approval": Aspect(
                "approval", approve_only, validate_approval, reset={"f:spec": {".": {}}}
            )
        },
    ),
}
