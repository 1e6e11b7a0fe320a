"""What the webhook of ClusterResourcePlacements refuses, and in which words."""

import pytest

from fleetqueue.api.fleet.validation import denial, placement_errors

NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace", "name": "a"}
DENIED = "deny create/update v1beta1 CRP has invalid fields "
QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


def is_cluster_scoped(group, version, kind):
    if group == "unreachable":
        raise LookupError("no answer")
    return kind in ("Namespace", "ClusterRole")


def placement(name="x", **spec):
    return {"metadata": {"name": name}, "spec": {"resourceSelectors": [NAMESPACE]} | spec}


def errors(**spec):
    return placement_errors(placement(**spec), is_cluster_scoped)


def policy_error(**policy):
    """The one error about the policy, without its lead."""
    (found,) = errors(policy=policy)
    return found.removeprefix("the placement policy field is invalid: ")


def strategy_error(**strategy):
    (found,) = errors(strategy=strategy)
    return found.removeprefix("the rollout Strategy field  is invalid: ")


def test_an_ordinary_placement_is_taken():
    affinity = {
        "clusterAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "clusterSelectorTerms": [
                    term(("kubernetes-fleet.io/node-count", "Ge", "2")),
                    {"labelSelector": {"matchLabels": {"a": "b"}}},
                ]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                preference("resources.kubernetes-fleet.io/available-cpu")
            ],
        }
    }
    policy = {"placementType": "PickN", "numberOfClusters": 1, "affinity": affinity}
    rolling = {"maxUnavailable": "25%", "maxSurge": 1, "unavailablePeriodSeconds": 60}
    assert errors(policy=policy, strategy={"type": "RollingUpdate", "rollingUpdate": rolling}) == []


def test_names():
    assert placement_errors(placement("n" * 63), is_cluster_scoped) == []
    assert placement_errors(placement("n" * 64), is_cluster_scoped) == [
        "the name field cannot have length exceeding 63"
    ]


SELECTORS = [
    (
        NAMESPACE | {"labelSelector": {}},
        "the labelSelector and name fields are mutually exclusive in selector"
        " {Group: Version:v1 Kind:Namespace Name:a LabelSelector:&LabelSelector{"
        "MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}"
        " SelectionScope:}",
    ),
    (
        NAMESPACE
        | {"name": "", "labelSelector": {"matchExpressions": [{"key": "k", "operator": "Is"}]}},
        "the labelSelector in resource selector {Group: Version:v1 Kind:Namespace Name:"
        " LabelSelector:&LabelSelector{MatchLabels:map[string]string{},"
        "MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:Is,"
        'Values:[],},},} SelectionScope:} is invalid: "Is" is not a valid label selector operator',
    ),
    (
        {"group": "", "version": "v1", "kind": "ConfigMap"},
        "the resource is not found in schema (please retry) or it is not a cluster scoped"
        " resource: /v1, Kind=ConfigMap",
    ),
    (
        {"group": "unreachable", "version": "v1", "kind": "X"},
        "failed to get GVR of the selector: no answer",
    ),
]


@pytest.mark.parametrize(("selector", "expected"), SELECTORS)
def test_selectors(selector, expected):
    assert errors(resourceSelectors=[selector]) == [expected]


def test_beside_an_anchoring_namespace_any_kind_may_be_selected():
    anchor = NAMESPACE | {"selectionScope": "NamespaceWithResourceSelectors"}
    config_maps = {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert errors(resourceSelectors=[anchor, config_maps]) == []


FIXED = {"placementType": "PickFixed"}
N = {"placementType": "PickN", "numberOfClusters": 1}
SPREAD = [{"topologyKey": "zone"}]
PREFERRED = {
    "clusterAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
}
FOR_FIXED = "only valid for PickFixed policy type"
FOR_N = "only valid for PickN placement policy type"
FOR_N_SPREAD = "only valid for PickN policy type"

POLICIES = [
    (
        FIXED | {"clusterNames": ["a" * 64]},
        f"PickFixed cluster name {'a' * 64} cannot have length exceeding 63",
    ),
    (
        FIXED | {"clusterNames": ["a", "b", "a"]},
        "cluster names must be unique for policy type PickFixed",
    ),
    (
        FIXED | {"clusterNames": ["A_"]},
        "PickFixed cluster name A_ is not a valid member name: a lowercase RFC 1123 subdomain must"
        " consist of lower case alphanumeric characters, '-' or '.', and must start and end with"
        " an alphanumeric character (e.g. 'example.com', regex used for validation is"
        " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ),
    (
        FIXED | {"numberOfClusters": 1},
        f"number of clusters must be nil for policy type PickFixed, {FOR_N}",
    ),
    (
        FIXED | {"affinity": {}},
        "affinity must be nil for policy type PickFixed,"
        " only valid for PickAll/PickN placement policy types",
    ),
    (
        FIXED | {"topologySpreadConstraints": SPREAD},
        f"topology spread constraints needs to be empty for policy type PickFixed, {FOR_N_SPREAD}",
    ),
    (
        FIXED | {"tolerations": [{"key": "a"}]},
        "tolerations needs to be empty for policy type PickFixed, only valid for PickAll/PickN",
    ),
    (
        {"placementType": "PickAll", "clusterNames": ["a"]},
        f"cluster names needs to be empty for policy type PickAll, {FOR_FIXED}",
    ),
    (
        {"placementType": "PickAll", "numberOfClusters": 1},
        f"number of clusters must be nil for policy type PickAll, {FOR_N}",
    ),
    (
        {"placementType": "PickAll", "topologySpreadConstraints": SPREAD},
        f"topology spread constraints needs to be empty for policy type PickAll, {FOR_N_SPREAD}",
    ),
    (
        {"placementType": "PickAll", "affinity": PREFERRED},
        "PreferredDuringSchedulingIgnoredDuringExecution will be ignored"
        " for placement policy type PickAll",
    ),
    (
        N | {"clusterNames": ["a"]},
        f"cluster names needs to be empty for policy type PickN, {FOR_FIXED}",
    ),
    (
        {"placementType": "PickN"},
        "number of cluster cannot be nil for policy type PickN",
    ),
    (
        {"placementType": "PickN", "numberOfClusters": -1},
        "number of clusters cannot be -1 for policy type PickN",
    ),
]


@pytest.mark.parametrize(("policy", "expected"), POLICIES)
def test_policies(policy, expected):
    assert policy_error(**policy) == expected


def test_a_fixed_choice_of_nothing_is_legal():
    assert errors(policy=FIXED | {"clusterNames": []}) == []


def term(*requirements):
    expressions = [
        {"name": name, "operator": operator, "values": values}
        for name, operator, *values in requirements
    ]
    return {"propertySelector": {"matchExpressions": expressions}}


def preference(name, order="Descending"):
    return {"weight": 1, "preference": {"propertySorter": {"name": name, "sortOrder": order}}}


def required(one):
    terms = {"clusterSelectorTerms": [one]}
    return N | {
        "affinity": {"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    }


def preferred(one):
    return N | {
        "affinity": {"clusterAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [one]}}
    }


BAD_LABELS = {"matchExpressions": [{"key": "k", "operator": "In"}]}
SHOWN_BAD_LABELS = (
    "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{"
    "LabelSelectorRequirement{Key:k,Operator:In,Values:[],},},} is invalid: values: Invalid value:"
    " []: for 'in', 'notin' operators, values set can't be empty"
)
COUNT = "kubernetes-fleet.io/node-count"
WRONG = f"invalid requirement on property {COUNT}: "
INCONSISTENT = f"inconsistent requirements on property {COUNT}: "
CAPACITIES = "supported values are [allocatable available total]"
FREE = "resources.kubernetes-fleet.io/free-cpu"
BARE = "resources.kubernetes-fleet.io/cpu"

TERMS = [
    (
        required({"labelSelector": BAD_LABELS}),
        f"the labelSelector in cluster selector {SHOWN_BAD_LABELS}",
    ),
    (
        preferred({"preference": {"labelSelector": BAD_LABELS}}),
        f"the labelSelector in preferred cluster selector {SHOWN_BAD_LABELS}",
    ),
    (
        required({"propertySorter": {"name": COUNT, "sortOrder": "Ascending"}}),
        "PropertySorter is not allowed for RequiredDuringSchedulingIgnoredDuringExecution affinity",
    ),
    (
        preferred({"preference": term((COUNT, "Gt", "1"))}),
        "PropertySelector is not allowed for"
        " PreferredDuringSchedulingIgnoredDuringExecution affinity",
    ),
    (preferred(preference(COUNT, "Up")), "invalid property sort order Up"),
    (
        preferred(preference(FREE)),
        f"invalid capacity type in resource property name {FREE}, {CAPACITIES}",
    ),
    (
        required(term((FREE, "Gt", "1"))),
        f"invalid property name {FREE}: invalid capacity type in resource property name {FREE},"
        f" {CAPACITIES}",
    ),
    (
        preferred(preference(BARE)),
        f"invalid resource property name {BARE},"
        " expected format is [PREFIX]/[CAPACITY_TYPE]-[RESOURCE_NAME]",
    ),
    (
        preferred(preference("a/")),
        "property name a/ is not valid: name part must be non-empty; name part must consist of"
        " alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
        " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
        " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ),
    (required(term((COUNT, "In", "1"))), f"{WRONG}unsupported operator In"),
    (required(term((COUNT, "Gt"))), f"{WRONG}operator Gt requires exactly one value, got 0"),
    (
        required(term((COUNT, "Gt", "x"))),
        f'{WRONG}value "x" is not a valid resource.Quantity: {QUANTITY}',
    ),
    (
        required(term((COUNT, "Eq", "1"), (COUNT, "Eq", "2"))),
        f"{INCONSISTENT}conflicting Eq values 1 and 2",
    ),
    (
        required(term((COUNT, "Eq", "1k"), (COUNT, "Ne", "1000"))),
        f"{INCONSISTENT}conflicting Eq and Ne on same value 1k",
    ),
    (
        required(term((COUNT, "Gt", "5"), (COUNT, "Gt", "3"), (COUNT, "Lt", "5"))),
        f"{INCONSISTENT}lower bound (5) and upper bound (5) exclude all values",
    ),
    (
        required(term((COUNT, "Ge", "2"), (COUNT, "Eq", "1"))),
        f"{INCONSISTENT}eq value 1 violates lower bound 2",
    ),
    (
        required(term((COUNT, "Lt", "2"), (COUNT, "Eq", "2"))),
        f"{INCONSISTENT}eq value 2 violates upper bound 2",
    ),
]


@pytest.mark.parametrize(("policy", "expected"), TERMS)
def test_terms(policy, expected):
    assert policy_error(**policy) == expected


@pytest.mark.parametrize(
    "requirements",
    [
        [(COUNT, "Ge", "2"), (COUNT, "Le", "2"), (COUNT, "Eq", "2")],
        [(COUNT, "Eq", "1000"), (COUNT, "Eq", "1k")],
        [(COUNT, "Ne", "1"), (COUNT, "Ne", "2")],
        [(COUNT, "Gt", "1"), ("k8s.io/other", "Lt", "1")],
    ],
)
def test_requirements_that_some_value_meets(requirements):
    assert errors(policy=required(term(*requirements))) == []


TOLERATION = {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}
EXISTS = {"key": "k", "operator": "Exists", "value": "v"}

TOLERATIONS = [
    (
        [EXISTS],
        "invalid toleration {Key:k Operator:Exists Value:v Effect:}:"
        " toleration value needs to be empty, when operator is Exists",
    ),
    (
        [{"operator": "Equal", "value": "v"}],
        "invalid toleration {Key: Operator:Equal Value:v Effect:}:"
        " toleration key cannot be empty, when operator is Equal",
    ),
    (
        [{"key": "k", "operator": "Exists"}, {"key": "k", "operator": "Exists", "value": ""}],
        "toleration {Key:k Operator:Exists Value: Effect:} already exists,"
        " tolerations must be unique",
    ),
    (
        [TOLERATION, TOLERATION],
        "toleration {Key:k Operator:Equal Value:v Effect:NoSchedule} already exists,"
        " tolerations must be unique",
    ),
]


@pytest.mark.parametrize(("tolerations", "expected"), TOLERATIONS)
def test_tolerations(tolerations, expected):
    assert policy_error(placementType="PickAll", tolerations=tolerations) == expected


def test_keys_and_values_of_tolerations_look_like_labels():
    wrong = [{"key": "a b", "operator": "Equal", "value": "c d"}]
    found = policy_error(placementType="PickAll", tolerations=wrong)
    shown = "{Key:a b Operator:Equal Value:c d Effect:}"
    assert found.startswith(f"[invalid toleration key {shown}: name part must consist of")
    assert f"invalid toleration value {shown}: a valid label must be an empty string" in found


STRATEGIES = [
    ({"type": "Manual"}, "unsupported rollout strategy type `Manual`"),
    (
        {"type": "External", "rollingUpdate": {}},
        "rollingUpdateConifg is not valid for ExternalRollout strategy type",
    ),
    (
        {"rollingUpdate": {"unavailablePeriodSeconds": -1}},
        "unavailablePeriodSeconds must be greater than or equal to 0, got -1",
    ),
    (
        {"rollingUpdate": {"maxUnavailable": -1}},
        "maxUnavailable must be greater than or equal to 0, got `-1`",
    ),
    (
        {"rollingUpdate": {"maxSurge": "-25%"}},
        "maxSurge must be greater than or equal to 0, got `-25%`",
    ),
    (
        {"rollingUpdate": {"maxSurge": "some"}},
        "maxSurge `some` is invalid: invalid value for IntOrString:"
        " invalid type: string is not a percentage",
    ),
    (
        {"rollingUpdate": {"maxUnavailable": "x%"}},
        "maxUnavailable `x%` is invalid: invalid value for IntOrString:"
        ' invalid value "x%": strconv.Atoi: parsing "x": invalid syntax',
    ),
    (
        {"applyStrategy": {"type": "ClientSideApply", "serverSideApplyConfig": {"force": True}}},
        "serverSideApplyConfig is only valid for ServerSideApply strategy type",
    ),
]


@pytest.mark.parametrize(("strategy", "expected"), STRATEGIES)
def test_strategies(strategy, expected):
    assert strategy_error(**strategy) == expected


def test_errors_are_told_together():
    policy = FIXED | {"numberOfClusters": 1, "affinity": {}}
    found = denial(placement("n" * 64, policy=policy), None, is_cluster_scoped)
    assert found == (
        f"{DENIED}[the name field cannot have length exceeding 63,"
        " the placement policy field is invalid:"
        " [number of clusters must be nil for policy type PickFixed, only valid for PickN"
        " placement policy type, affinity must be nil for policy type PickFixed, only valid for"
        " PickAll/PickN placement policy types]]"
    )


def test_one_error_is_told_alone():
    found = denial(placement("n" * 64), None, is_cluster_scoped)
    assert found == f"{DENIED}the name field cannot have length exceeding 63"


CHANGES = [
    ({}, {}, None),
    ({"policy": N}, {"policy": N | {"numberOfClusters": 3}}, None),
    ({}, {"policy": {"placementType": "PickAll"}}, None),
    ({"policy": N}, {}, "placement type is immutable"),
    (
        {"policy": {"tolerations": [{"key": "b", "operator": "Exists", "value": ""}]}},
        {"policy": {"tolerations": [{"key": "b", "operator": "Exists"}]}},
        None,
    ),
    (
        {"policy": {"tolerations": [TOLERATION]}},
        {"policy": {"tolerations": []}},
        "tolerations have been updated/deleted, only additions to tolerations are allowed",
    ),
    (
        {"policy": {"tolerations": [TOLERATION]}},
        {"policy": {"tolerations": [{"key": "b"}, TOLERATION]}},
        None,
    ),
    (
        {"strategy": {"type": "External", "rollingUpdate": {}}},
        {},
        "deny update on old invalid v1beta1 CRP with DeletionTimestamp not set"
        " the rollout Strategy field  is invalid:"
        " rollingUpdateConifg is not valid for ExternalRollout strategy type",
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), CHANGES)
def test_changes(old, new, expected):
    assert denial(placement(**new), placement(**old), is_cluster_scoped) == expected


def test_what_is_being_deleted_is_never_held_up():
    leaving = placement("n" * 64)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    assert denial(leaving, placement("n" * 64), is_cluster_scoped) is None
