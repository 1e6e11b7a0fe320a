"""AppWrapper (workload.codeflare.dev/v1beta2): any set of objects, queued as one job."""

from fleetqueue.api.foreign.core import CONDITIONS, TOLERATION
from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.schema import (
    boolean,
    embedded_resource,
    int32,
    list_of,
    obj,
    string,
    string_map,
)
from fleetqueue.api.kinds import AGE, Column, Kind

POD_SET = obj(
    {
        "path!": string("Where in the template the pod template stands."),
        "replicas": int32("How many such pods the component makes; one if absent."),
        "annotations": string_map(),
    }
)

POD_SET_INFO = obj(
    {
        "annotations": string_map(),
        "labels": string_map(),
        "nodeSelector": string_map(),
        "schedulingGates": list_of(obj({"name!": string()})),
        "tolerations": list_of(TOLERATION),
    },
    "What admission adds to the pods of one pod set.",
)

COMPONENT = obj(
    {
        "annotations": string_map(),
        "podSets": list_of(POD_SET, "The pod sets inside; found by kind if absent."),
        "podSetInfos": list_of(POD_SET_INFO, "Filled in on admission, in the order of podSets."),
        "template!": embedded_resource("The object to create."),
    }
)

COMPONENT_STATUS = obj(
    {
        "name!": string(),
        "kind!": string(),
        "apiVersion!": string(),
        "podSets!": list_of(POD_SET, "The pod sets that were found."),
        "conditions": CONDITIONS,
    }
)

SPEC = obj(
    {
        "components!": list_of(COMPONENT, "The objects that make up the job."),
        "suspend": boolean("Whether the components must not exist now."),
        "managedBy": string("The controller in charge; the AppWrapper controller if absent."),
    }
)

STATUS = obj(
    {
        "phase": string(),
        "resettingCount": int32("How often the components were taken down to try again."),
        "conditions": CONDITIONS,
        "componentStatus": list_of(COMPONENT_STATUS),
    }
)


def _condition(name: str, type_name: str) -> Column:
    return Column(name, f'.status.conditions[?(@.type=="{type_name}")].status')


APP_WRAPPER = Version(
    kind=Kind(
        "workload.codeflare.dev",
        "v1beta2",
        "appwrappers",
        name="AppWrapper",
        short_names=("aw",),
        storage=True,
        columns=(
            Column("Status", ".status.phase"),
            _condition("Quota Reserved", "QuotaReserved"),
            _condition("Resources Deployed", "ResourcesDeployed"),
            _condition("Unhealthy", "Unhealthy"),
            AGE,
        ),
    ),
    about="Any set of objects, queued, started and retried as one job.",
    spec=SPEC,
    status=STATUS,
)
