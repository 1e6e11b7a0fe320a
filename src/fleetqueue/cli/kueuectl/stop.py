"""`kueuectl stop` and `kueuectl resume`."""

from fleetqueue.cli.kueuectl.verbs import Verb

stop = Verb(
    "stop",
    "Hold a queue, or take a workload out of its queue.",
    {
        "clusterqueue": "stopping:stop_queue",
        "localqueue": "stopping:stop_queue",
        "workload": "stopping:stop_workload",
    },
    summaries={
        "clusterqueue": "Hold a ClusterQueue.",
        "localqueue": "Hold a LocalQueue.",
        "workload": "Take a workload out of its queue; its job is stopped.",
    },
)
resume = Verb(
    "resume",
    "Let a queue admit again, or a workload be queued again.",
    {
        "clusterqueue": "stopping:resume_queue",
        "localqueue": "stopping:resume_queue",
        "workload": "stopping:resume_workload",
    },
    summaries={
        "clusterqueue": "Let a ClusterQueue admit again.",
        "localqueue": "Let a LocalQueue admit again.",
        "workload": "Have a workload queued again.",
    },
)
