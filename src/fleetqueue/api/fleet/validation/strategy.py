"""What is wrong with a rollout strategy."""

import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def strategy_errors(strategy: Json) -> list[str]:
    """In the order in which the webhook names them."""
    return [*_type_errors(strategy), *_rolling_update_errors(strategy), *_apply_errors(strategy)]


def _type_errors(strategy: Json) -> Iterator[str]:
    strategy_type = strategy.get("type", "")
    if strategy_type not in ("", "RollingUpdate", "External"):
        yield f"unsupported rollout strategy type `{strategy_type}`"


def _rolling_update_errors(strategy: Json) -> Iterator[str]:
    config = strategy.get("rollingUpdate")
    if config is None:
        return
    if strategy.get("type") == "External":
        yield "rollingUpdateConifg is not valid for ExternalRollout strategy type"
    period = config.get("unavailablePeriodSeconds")
    if period is not None and period < 0:
        yield f"unavailablePeriodSeconds must be greater than or equal to 0, got {period}"
    for field in ("maxUnavailable", "maxSurge"):
        if config.get(field) is not None:
            yield from _share_errors(field, config[field])


def _share_errors(field: str, share: int | str) -> Iterator[str]:
    if isinstance(share, str) and (wrong := _percentage_error(share)):
        yield f"{field} `{share}` is invalid: invalid value for IntOrString: {wrong}"
    elif int(str(share).removesuffix("%")) < 0:
        yield f"{field} must be greater than or equal to 0, got `{share}`"


def _percentage_error(share: str) -> str:
    if not share.endswith("%"):
        return "invalid type: string is not a percentage"
    digits = share[:-1]
    if re.fullmatch("[+-]?[0-9]+", digits):
        return ""
    return f'invalid value "{share}": strconv.Atoi: parsing "{digits}": invalid syntax'


def _apply_errors(strategy: Json) -> Iterator[str]:
    apply = strategy.get("applyStrategy") or {}
    if apply.get("serverSideApplyConfig") is not None and apply.get("type") != "ServerSideApply":
        yield "serverSideApplyConfig is only valid for ServerSideApply strategy type"
