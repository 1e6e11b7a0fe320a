"""Refuses options of logs that kube-apiserver refuses, in its words."""

import re
from collections.abc import Mapping

from fleetqueue.api import field_errors as fields
from fleetqueue.api import times
from fleetqueue.api.field_errors import FieldError
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call

NUMBERS = ("sinceSeconds", "tailLines", "limitBytes")
TWO_STARTS = "at most one of `sinceTime` or `sinceSeconds` may be specified"
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT64_MAX = 2**63 - 1


def check_log_options(call: Call) -> None:
    query = call.request.query
    given = {name: _integer(query[name][0]) for name in NUMBERS if query.get(name)}
    moment = call.request.first("sinceTime")
    if moment:
        try:
            times.parse_time(moment)
        except times.TimeError as error:
            raise problems.bad_request(str(error)) from error
    errors = _errors(given, query)
    if errors:
        raise problems.invalid("", "PodLogOptions", call.route.name, errors)


def _errors(given: Mapping[str, int], query: Mapping[str, list[str]]) -> list[FieldError]:
    errors = []
    if given.get("tailLines", 0) < 0:
        why = "must be greater than or equal to 0"
        errors.append(fields.wrong("tailLines", given["tailLines"], why))
    if given.get("limitBytes", 1) < 1:
        errors.append(fields.wrong("limitBytes", given["limitBytes"], "must be greater than 0"))
    if "sinceSeconds" in given and query.get("sinceTime"):
        errors.append(fields.forbidden("[]", TWO_STARTS))
    elif given.get("sinceSeconds", 1) < 1:
        errors.append(fields.wrong("sinceSeconds", given["sinceSeconds"], "must be greater than 0"))
    if query.get("stream"):
        # The choice of a stream is behind a gate that is closed in this version.
        errors.append(fields.forbidden("stream", "may not be specified"))
    return errors


def _integer(text: str) -> int:
    why = ""
    if not _INTEGER.fullmatch(text):
        why = "invalid syntax"
    elif not -_INT64_MAX - 1 <= int(text) <= _INT64_MAX:
        why = "value out of range"
    if why:
        raise problems.bad_request(f"strconv.ParseInt: parsing {fields.show(text)}: {why}")
    return int(text)
