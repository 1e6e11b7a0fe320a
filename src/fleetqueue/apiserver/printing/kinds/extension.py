"""Tables of what extends or steers the server: webhooks, policies, flow control, API services."""

from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.cells import AGE, NAME, NONE, UNSET, at, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object

ADMISSION = "admissionregistration.k8s.io"
FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"


def _parameter_kind(obj: Object) -> str:
    kind = dig(obj, "spec", "paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}"


def _parameters(obj: Object) -> str:
    reference = dig(obj, "spec", "paramRef") or {}
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector = reference.get("selector")
    return UNSET if selector is None else _go_selector(selector)


def _go_selector(selector: Object) -> str:
    """The way Go writes the value down, which is what kube-apiserver shows here."""
    labels = "".join(
        f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items())
    )
    terms = "".join(
        f"LabelSelectorRequirement{{Key:{one['key']},Operator:{one['operator']},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{terms}}},}}"
    )


def _dangling(obj: Object) -> str:
    return cells.condition(obj, "Dangling").get("status") or "?"


def _limited(name: str, *path: str) -> Column:
    return Column(name, at("spec", "limited", *path, default=NONE))


def _service(obj: Object) -> str:
    service = dig(obj, "spec", "service")
    if service is None:
        return "Local"
    return f"{service.get('namespace') or ''}/{service.get('name') or ''}"


def _available(obj: Object) -> str:
    condition = cells.condition(obj, "Available")
    status, reason = condition.get("status") or "Unknown", condition.get("reason")
    return f"{status} ({reason})" if status != "True" and reason else status


WEBHOOKS = Layout((NAME, Column("Webhooks", cells.count_at("webhooks"), "integer"), AGE))
BINDING = Layout(
    (
        NAME,
        Column("PolicyName", at("spec", "policyName")),
        Column("ParamRef", only(_parameters)),
        AGE,
    )
)

LAYOUTS = {
    (ADMISSION, "MutatingWebhookConfiguration"): WEBHOOKS,
    (ADMISSION, "ValidatingWebhookConfiguration"): WEBHOOKS,
    (ADMISSION, "ValidatingAdmissionPolicy"): Layout(
        (
            NAME,
            Column("Validations", cells.count_at("spec", "validations"), "integer"),
            Column("ParamKind", only(_parameter_kind)),
            AGE,
        )
    ),
    (ADMISSION, "ValidatingAdmissionPolicyBinding"): BINDING,
    (FLOW_CONTROL, "FlowSchema"): Layout(
        (
            NAME,
            Column("PriorityLevel", at("spec", "priorityLevelConfiguration", "name")),
            Column("MatchingPrecedence", at("spec", "matchingPrecedence", default=0)),
            Column("DistinguisherMethod", at("spec", "distinguisherMethod", "type", default=NONE)),
            AGE,
            Column("MissingPL", only(_dangling)),
        ),
        order=lambda obj: (dig(obj, "spec", "matchingPrecedence") or 0, obj["metadata"]["name"]),
    ),
    (FLOW_CONTROL, "PriorityLevelConfiguration"): Layout(
        (
            NAME,
            Column("Type", at("spec", "type")),
            _limited("NominalConcurrencyShares", "nominalConcurrencyShares"),
            _limited("Queues", "limitResponse", "queuing", "queues"),
            _limited("HandSize", "limitResponse", "queuing", "handSize"),
            _limited("QueueLengthLimit", "limitResponse", "queuing", "queueLengthLimit"),
            AGE,
        )
    ),
    ("apiregistration.k8s.io", "APIService"): Layout(
        (NAME, Column("Service", only(_service)), Column("Available", only(_available)), AGE),
        repeats_header=True,
    ),
}
