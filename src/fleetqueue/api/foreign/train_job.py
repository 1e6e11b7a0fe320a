"""TrainJob (trainer.kubeflow.org/v1alpha1): one training run, built from a runtime."""

from fleetqueue.api.core_schemas import inlined
from fleetqueue.api.foreign.core import (
    CONDITIONS,
    ENV_VAR,
    OBJECT_META,
    RESOURCES,
    SECURITY_CONTEXT,
    TOLERATION,
    VOLUME_MOUNT,
)
from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.schema import (
    Schema,
    boolean,
    immutable,
    int32,
    int64,
    list_map,
    list_of,
    obj,
    rule,
    string,
    string_map,
    time,
    with_rules,
)
from fleetqueue.api.kinds import AGE, Column, Kind

OPERATOR = "trainer.kubeflow.org/trainjob-controller"
DISPATCHER = "kueue.x-k8s.io/multikueue"

FIXED = immutable("field is immutable")

_CORE = "io.k8s.api.core.v1"


def _environment() -> Schema:
    return list_map(ENV_VAR, "name", max_items=128)


def _arguments(about: str) -> Schema:
    return list_of(string(max_length=65536), about, max_items=128)


def _source(about: str) -> Schema:
    return obj(
        {
            "storageUri": string("Where it comes from, such as hf://org/name.", max_length=2048),
            "env": _environment(),
            "secretRef": inlined(f"{_CORE}.LocalObjectReference"),
        },
        about,
    )


RUNTIME_REFERENCE = obj(
    {
        "name!": string(min_length=1, max_length=253),
        "apiGroup": string(default="trainer.kubeflow.org", max_length=253),
        "kind": string(default="ClusterTrainingRuntime", max_length=253),
    },
    "The runtime that the job is built from.",
    rules=[FIXED],
)

INITIALIZER = obj(
    {"dataset": _source("The data to fetch."), "model": _source("The model to fetch.")},
    "What is fetched before training starts.",
    rules=[FIXED],
)

TRAINER = obj(
    {
        "image": string(max_length=500),
        "command": _arguments("What the trainer runs instead of the runtime's command."),
        "args": _arguments("Its arguments."),
        "env": _environment(),
        "numNodes": int32("How many nodes train."),
        "resourcesPerNode": RESOURCES,
        "numProcPerNode": int32("Processes per node."),
    },
    "What the job changes in the runtime's trainer.",
    rules=[FIXED],
)


def _fixed_list(item: Schema) -> Schema:
    """A list by name that stays as created; its limit keeps the cost of comparing within bounds."""
    return list_map(item, "name", max_items=64, rules=[FIXED])


CONTAINER_PATCH = obj(
    {
        "name!": string("The container of the runtime that this changes."),
        "env": list_map(ENV_VAR, "name"),
        "volumeMounts": list_map(VOLUME_MOUNT, "name"),
        "securityContext": SECURITY_CONTEXT,
    }
)

# Where a queue steers pods the patch may change while the job waits; the rest stays as created.
POD_PATCH = obj(
    {
        "serviceAccountName": string(max_length=253, rules=[FIXED]),
        "volumes": _fixed_list(inlined(f"{_CORE}.Volume")),
        "initContainers": _fixed_list(CONTAINER_PATCH),
        "containers": _fixed_list(CONTAINER_PATCH),
        "imagePullSecrets": _fixed_list(inlined(f"{_CORE}.LocalObjectReference")),
        "securityContext": with_rules(inlined(f"{_CORE}.PodSecurityContext"), FIXED),
        "terminationGracePeriodSeconds": int64(rules=[FIXED]),
        "nodeSelector": string_map(),
        "affinity": inlined(f"{_CORE}.Affinity"),
        "tolerations": list_of(TOLERATION),
        "schedulingGates": list_map(inlined(f"{_CORE}.PodSchedulingGate"), "name"),
    }
)

JOB_PATCH = obj(
    {
        "name!": string("The replicated job that this changes.", min_length=1, max_length=253),
        "template": obj(
            {
                "metadata": OBJECT_META,
                "spec": obj({"template": obj({"metadata": OBJECT_META, "spec": POD_PATCH})}),
            }
        ),
    }
)

RUNTIME_PATCH = obj(
    {
        "manager!": string(
            "Who patches; each manager has one entry.",
            min_length=1,
            max_length=253,
            rules=[FIXED],
        ),
        "time": time("When it last did."),
        "trainingRuntimeSpec": obj(
            {
                "template": obj(
                    {
                        "metadata": OBJECT_META,
                        "spec": obj({"replicatedJobs": list_map(JOB_PATCH, "name", max_items=100)}),
                    }
                )
            }
        ),
    }
)

MANAGED_BY = string(
    "The controller in charge.",
    default=OPERATOR,
    max_length=253,
    rules=[
        rule(
            f"self == '{OPERATOR}' || self == '{DISPATCHER}'",
            f"ManagedBy must be {OPERATOR} or {DISPATCHER} if set",
        ),
        FIXED,
    ],
)

SPEC = obj(
    {
        "runtimeRef!": RUNTIME_REFERENCE,
        "initializer": INITIALIZER,
        "trainer": TRAINER,
        "runtimePatches": list_map(
            RUNTIME_PATCH, "manager", about="What managers change in the runtime.", max_items=16
        ),
        "suspend": boolean("Whether the job must not run now.", default=False),
        "activeDeadlineSeconds": int64(minimum=1, rules=[FIXED]),
        "managedBy": MANAGED_BY,
    }
)

JOB_STATUS = obj(
    {"name!": string(min_length=1, max_length=253)}
    | {
        f"{counter}!": int32(minimum=0)
        for counter in ("ready", "succeeded", "failed", "active", "suspended")
    }
)

METRIC = obj(
    {
        "name!": string(min_length=1, max_length=64),
        "value!": string(min_length=1, max_length=64),
    }
)

TRAINER_STATUS = obj(
    {
        "progressPercentage": int32(minimum=0, maximum=100),
        "estimatedRemainingSeconds": int32(minimum=0),
        "metrics": list_of(METRIC, max_items=256),
        "lastUpdatedTime": time(),
    },
    "What the training code says of its progress.",
    rules=[
        rule(
            "has(self.lastUpdatedTime)",
            "lastUpdatedTime is required when trainerStatus is present",
        )
    ],
)

STATUS = obj(
    {
        "conditions": CONDITIONS | {"maxItems": 8},
        "jobsStatus": list_map(JOB_STATUS, "name", max_items=100),
        "trainerStatus": TRAINER_STATUS,
    },
    min_properties=1,
)

TRAIN_JOB = Version(
    kind=Kind(
        "trainer.kubeflow.org",
        "v1alpha1",
        "trainjobs",
        name="TrainJob",
        storage=True,
        columns=(Column("State", ".status.conditions[-1:].type"), AGE),
    ),
    about="One training run, built from a runtime.",
    spec=SPEC,
    status=STATUS,
    rules=[
        rule(
            "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "metadata.name must match RFC 1035 DNS label format",
        ),
        rule(
            "self.metadata.name.size() < 64",
            "metadata.name must be no more than 63 characters",
        ),
    ],
)
