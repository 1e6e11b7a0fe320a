"""JobSet (jobset.x-k8s.io/v1alpha2): groups of Jobs that start, fail and finish together.

Training runtimes embed the spec as an earlier release of JobSet had it; `job_set_spec` makes both.
"""

from fleetqueue.api.foreign.core import CONDITIONS, JOB_TEMPLATE, VOLUME_CLAIM
from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.schema import (
    Schema,
    boolean,
    enum,
    immutable,
    int32,
    integer,
    list_map,
    list_of,
    obj,
    rule,
    string,
    strings,
)
from fleetqueue.api.kinds import AGE, Column, Kind

JOB_SET_ACTIONS = ("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts")
JOB_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")

DEPENDS_ON = list_map(
    obj(
        {
            "name!": string("A replicated job that comes earlier in the list."),
            "status!": enum("Ready", "Complete", about="How far it must have come."),
        }
    ),
    "name",
    about="What must have happened before this job starts.",
    max_items=5,
    rules=[immutable()],
)

NETWORK = obj(
    {
        "enableDNSHostnames": boolean("Whether pods find each other by host name."),
        "subdomain": string("The name of the headless service; that of the JobSet if absent."),
        "publishNotReadyAddresses": boolean(),
    },
    "How the pods find each other.",
    rules=[immutable()],
)

SUCCESS_POLICY = obj(
    {
        "operator!": enum("All", "Any", about="Whether all or any of the targets must complete."),
        "targetReplicatedJobs": strings("The jobs that count; all of them if empty."),
    },
    "When the JobSet counts as completed.",
    rules=[immutable()],
)

STARTUP_POLICY = obj(
    {"startupPolicyOrder!": enum("AnyOrder", "InOrder")},
    "Whether each replicated job waits for the one before it.",
    rules=[immutable()],
)

COORDINATOR = obj(
    {
        "replicatedJob!": string(),
        "jobIndex": integer(),
        "podIndex": integer(),
    },
    "The pod whose address every pod of the JobSet is told.",
)

VOLUME_CLAIM_POLICY = obj(
    {
        "templates": list_of(VOLUME_CLAIM, "The claims to create.", max_items=50),
        "retentionPolicy": obj(
            {"whenDeleted": enum("Delete", "Retain", default="Delete")},
            "What becomes of the claims when the JobSet goes.",
        ),
    },
    rules=[
        rule(
            "self.templates.all(claim, !has(claim.metadata.namespace)"
            " || claim.metadata.namespace.size() == 0)",
            "namespace cannot be set for VolumeClaimPolicies templates",
        )
    ],
)

STARTS_ONE_WAY = rule(
    "!has(self.startupPolicy) || self.startupPolicy.startupPolicyOrder != 'InOrder'"
    " || !self.replicatedJobs.exists(job, has(job.dependsOn))",
    "StartupPolicy and DependsOn APIs are mutually exclusive",
)


def job_set_spec(replicas: Schema, actions: tuple[str, ...]) -> Schema:
    """What a JobSet runs; releases differ in the limits of `replicas` and the failure actions."""
    return obj(
        {
            "replicatedJobs": list_map(
                _replicated_job(replicas), "name", about="The groups of jobs to run."
            ),
            "network": NETWORK,
            "successPolicy": SUCCESS_POLICY,
            "failurePolicy": _failure_policy(actions),
            "startupPolicy": STARTUP_POLICY,
            "suspend": boolean("Whether the jobs must not run now."),
            "coordinator": COORDINATOR,
            "managedBy": string("The controller in charge; the JobSet controller if absent."),
            "ttlSecondsAfterFinished": int32("How long a finished JobSet is kept.", minimum=0),
            "volumeClaimPolicies": list_of(
                VOLUME_CLAIM_POLICY,
                "Claims that the jobs share.",
                max_items=50,
                rules=[immutable()],
            ),
        },
        rules=[STARTS_ONE_WAY],
    )


def _replicated_job(replicas: Schema) -> Schema:
    return obj(
        {
            "name!": string("Part of the names of its jobs."),
            "groupName": string(default="default"),
            "template!": JOB_TEMPLATE,
            "replicas": replicas,
            "dependsOn": DEPENDS_ON,
        },
        "Jobs made from one template.",
    )


def _failure_policy(actions: tuple[str, ...]) -> Schema:
    failure_rule = obj(
        {
            "name!": string(),
            "action!": enum(*actions),
            "onJobFailureReasons": strings("Reasons of failed jobs that match; any if empty."),
            "onJobFailureMessagePatterns": strings(),
            "targetReplicatedJobs": strings("The jobs that match; all of them if empty."),
        }
    )
    strategies = ("Recreate", "BlockingRecreate", "InPlaceRestart")
    return obj(
        {
            "maxRestarts": int32("How often all jobs are started again."),
            "restartStrategy": enum(*strategies, default="Recreate"),
            "rules": list_of(failure_rule, "The first rule that matches a failed job decides."),
        },
        "What happens when a job fails; without it the JobSet fails.",
        rules=[immutable()],
    )


def _counters() -> Schema:
    return list_of(int32(), max_items=1024)


REPLICATED_JOB_STATUS = obj(
    {
        "name!": string(),
        "ready!": int32("Jobs whose pods are all ready or done."),
        "succeeded!": int32(),
        "failed!": int32(),
        "active!": int32(),
        "suspended!": int32(),
        "jobRestarts": _counters(),
        "jobRestartsCountTowardsMax": _counters(),
    }
)

STATUS = obj(
    {
        "conditions": CONDITIONS,
        "restarts": int32("How often all jobs were started again."),
        "restartsCountTowardsMax": int32(),
        "terminalState": string("Completed or Failed, once it is."),
        "replicatedJobsStatus": list_map(REPLICATED_JOB_STATUS, "name"),
        "previousInPlaceRestartAttempt": int32(minimum=0),
        "currentInPlaceRestartAttempt": int32(minimum=0),
    }
)

JOB_SET = Version(
    kind=Kind(
        "jobset.x-k8s.io",
        "v1alpha2",
        "jobsets",
        name="JobSet",
        storage=True,
        columns=(
            Column("TerminalState", ".status.terminalState"),
            Column("Restarts", ".status.restarts"),
            Column("Completed", '.status.conditions[?(@.type=="Completed")].status'),
            Column("Suspended", ".spec.suspend"),
            AGE,
        ),
    ),
    about="Groups of Jobs that start, fail and finish together.",
    spec=job_set_spec(
        replicas=int32("How many jobs of this template.", default=1, minimum=0),
        actions=JOB_SET_ACTIONS + JOB_ACTIONS,
    ),
    status=STATUS,
)
