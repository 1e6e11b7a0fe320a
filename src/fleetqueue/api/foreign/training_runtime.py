"""TrainingRuntime, ClusterTrainingRuntime (trainer.kubeflow.org/v1alpha1): plans for TrainJobs."""

from fleetqueue.api.foreign.core import OBJECT_META
from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.job_set import JOB_SET_ACTIONS, job_set_spec
from fleetqueue.api.foreign.schema import boolean, enum, int32, integer, obj, rule, string
from fleetqueue.api.kinds import Kind

MPI = obj(
    {
        "numProcPerNode": int32("Processes, or slots, per node.", default=1),
        "mpiImplementation": enum("OpenMPI", "", default="OpenMPI"),
        "sshAuthMountPath": string(
            "Where the keys are mounted.", default="/root/.ssh", max_length=4096
        ),
        "runLauncherAsNode": boolean("Whether the launcher does work as well.", default=False),
    }
)

FLUX = obj(
    {
        "numProcPerNode": int32(
            default=1,
            rules=[rule("self >= 1", "NumProcPerNode in fluxPolicy must be >= 1")],
        )
    }
)

# Presence alone picks a framework, so `torch: {}` says something.
ML_POLICY = obj(
    {
        "numNodes": int32("How many nodes train; a TrainJob may say otherwise."),
        "torch": obj({}),
        "mpi": MPI,
        "jax": obj({}),
        "xgboost": obj({}),
        "flux": FLUX,
    },
    "How the framework is set up.",
    rules=[
        rule(
            "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost), has(self.flux)]"
            ".filter(chosen, chosen).size() < 2",
            "Only one of the policy can be configured",
        )
    ],
)

POD_GROUP_POLICY = obj(
    {
        "coscheduling": obj({"scheduleTimeoutSeconds": int32(default=60)}),
        "volcano": obj(
            {
                "networkTopology": obj(
                    {
                        "mode": enum("hard", "soft", default="hard"),
                        "highestTierAllowed": integer(default=1),
                    }
                )
            }
        ),
    },
    "Which gang scheduler places the pods.",
)

TEMPLATE = obj(
    {
        "metadata": OBJECT_META,
        "spec": job_set_spec(
            replicas=int32("How many jobs of this template.", default=1),
            actions=JOB_SET_ACTIONS,
        ),
    },
    "The JobSet that a TrainJob becomes.",
    min_properties=1,
)

SPEC = obj(
    {"mlPolicy": ML_POLICY, "podGroupPolicy": POD_GROUP_POLICY, "template": TEMPLATE},
    min_properties=1,
)

# Runtimes of Trainer 2.0 and 2.1 say so; today torchrun counts the devices where nobody says more.
RETIRED = (("fleetqueue.dev/retired-fields", '{"spec.mlPolicy.torch.numProcPerNode": "auto"}'),)

TRAINING_RUNTIME = Version(
    kind=Kind(
        "trainer.kubeflow.org",
        "v1alpha1",
        "trainingruntimes",
        name="TrainingRuntime",
        storage=True,
        annotations=RETIRED,
    ),
    about="A blueprint that the TrainJobs of its namespace can name.",
    spec=SPEC,
)

CLUSTER_TRAINING_RUNTIME = Version(
    kind=Kind(
        "trainer.kubeflow.org",
        "v1alpha1",
        "clustertrainingruntimes",
        scope="Cluster",
        name="ClusterTrainingRuntime",
        storage=True,
        annotations=RETIRED,
    ),
    about="A blueprint that every TrainJob of the cluster can name.",
    spec=SPEC,
)
