"""Tables of devices: classes, claims on them, and what nodes offer."""

from fleetqueue.apiserver.printing.cells import AGE, NAME, at, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object

GROUP = "resource.k8s.io"


def _claim_state(obj: Object) -> str:
    is_going = bool(dig(obj, "metadata", "deletionTimestamp"))
    states = ["deleted"] if is_going else []
    if dig(obj, "status", "allocation") is None:
        states += [] if is_going else ["pending"]
    else:
        states += ["allocated", "reserved"] if dig(obj, "status", "reservedFor") else ["allocated"]
    return ",".join(states)


LAYOUTS = {
    (GROUP, "DeviceClass"): Layout((NAME, AGE)),
    (GROUP, "ResourceClaim"): Layout((NAME, Column("State", only(_claim_state)), AGE)),
    (GROUP, "ResourceClaimTemplate"): Layout((NAME, AGE)),
    (GROUP, "ResourceSlice"): Layout(
        (
            NAME,
            Column("Node", at("spec", "nodeName")),
            Column("Driver", at("spec", "driver")),
            Column("Pool", at("spec", "pool", "name")),
            AGE,
        )
    ),
}
