"""The annotation that names gates: somebody must take them away before a workload is admitted.

Jobs and Workloads share these rules.
"""

import re
from collections.abc import Mapping

from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError, forbidden, too_long, wrong
from fleetqueue.api.kueue.labels import ADMISSION_GATED_BY

PATH = f"metadata.annotations[{ADMISSION_GATED_BY}]"
NAME_LENGTH_MAX = 63
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def gates_of(annotations: Mapping[str, str]) -> list[str]:
    """The gates that an object names, in order."""
    value = annotations.get(ADMISSION_GATED_BY, "")
    return [gate.strip() for gate in value.split(",")] if value else []


def check_gates(annotations: Mapping[str, str]) -> list[FieldError]:
    value, gates = annotations.get(ADMISSION_GATED_BY, ""), gates_of(annotations)
    errors: list[FieldError] = []
    for index, gate in enumerate(gates):
        if not gate:
            errors.append(wrong(PATH, value, "cannot contain empty gate names"))
        elif gate in gates[:index]:
            errors.append(wrong(PATH, value, f"duplicate gate name: {gate}"))
        else:
            errors += _check_name(gate)
    return errors


def check_gates_update(new: Mapping[str, str], old: Mapping[str, str]) -> list[FieldError]:
    """Gates can only be removed."""
    added = set(gates_of(new)) - set(gates_of(old))
    if not added:
        return []
    if ADMISSION_GATED_BY not in old:
        return [forbidden(PATH, "cannot add admission gate after creation")]
    return [forbidden(PATH, "can only remove gates, not add new ones")]


def _check_name(gate: str) -> list[FieldError]:
    errors = _check_domain_prefixed_path(gate)
    if names.byte_length(gate) > NAME_LENGTH_MAX:
        errors.append(too_long(PATH, NAME_LENGTH_MAX))
    return errors


def _check_domain_prefixed_path(gate: str) -> list[FieldError]:
    host, _, path = gate.partition("/")
    if not host or not path:
        return [wrong(PATH, gate, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [wrong(PATH, host, message) for message in names.dns1123_subdomain(host)]
    if not re.fullmatch(_HTTP_PATH, path, re.ASCII):
        errors.append(wrong(PATH, path, names.pattern_message("Invalid path", _HTTP_PATH)))
    return errors
