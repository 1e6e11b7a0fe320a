"""The few answers of 500 and above that are no fault: kube-apiserver gives them too."""

import re
from typing import Any

GIVEN_BY_KUBE_APISERVER = (
    # Errors that it does not classify: 500 without a reason.
    r'no kind ".*" is registered for version ".*" in scheme ',
    r"failed to create typed patch object \(",
    r'(resourceVersion: Invalid value: ".*": )?strconv\.ParseUint: parsing ".*": invalid syntax$',
    r"resourceVersion should not be set on objects to be created$",
    r"json: cannot unmarshal .* into Go struct field DeleteOptions\.",
    r"couldn't get version/kind; json parse error: ",
    r"target\.(name: Required value|kind: Unsupported value: )",
    r"This pod has more than one PodDisruptionBudget, ",
    r"unsupported role reference kind: ",
    # Strategic merge patches that cannot be merged.
    r"unknown patch type: .* in map: map\[",
    r"merging lists cannot yet be specified in the patch$",
    r"map: .* does not contain declared merge key: ",
    r"list element types are not identical: ",
    r"expected a .*, but received a ",
    r"unable to find api field in struct .* for the json field ",
    r"The order in patch list:\n",
    r"merging an object in json but data type is not struct, instead is: ",
    # Webhooks that fail, and scales of what has none.
    r"conversion webhook for ",
    r"Internal error occurred: failed calling webhook ",
    r"Internal error occurred: the spec replicas field ",
)
OWN = "nothing runs the pods of this server"
"""What only a server without a runtime says, with 503."""

_KNOWN = re.compile("|".join(f"(?:{pattern})" for pattern in GIVEN_BY_KUBE_APISERVER), re.DOTALL)


def is_known(failure: dict[str, Any]) -> bool:
    """Of a Status: whether it is one of these."""
    code, reason, message = failure["code"], failure.get("reason"), failure["message"]
    if code == 504:
        # A version to come does not come in time.
        return reason == "Timeout" and "Too large resource version" in message
    if code == 503:
        return bool(message.startswith(OWN))
    return code == 500 and _KNOWN.match(message) is not None
