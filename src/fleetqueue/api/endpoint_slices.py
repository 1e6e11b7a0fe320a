"""What an EndpointSlice says, for all who look for the pods behind a Service."""

from typing import Any


def port_numbers(part: dict[str, Any], name: str) -> list[int]:
    """Of the ports with that name. One without a number stands for all, which leads nowhere."""
    ports = [p for p in part.get("ports") or () if (p.get("name") or "") == name]
    return [p["port"] for p in ports if p.get("port")]
