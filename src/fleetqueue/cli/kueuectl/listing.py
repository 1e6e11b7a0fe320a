"""`kueuectl list`."""

from fleetqueue.cli.kueuectl.verbs import Verb

listing = Verb(
    "list",
    "List queues, flavors, workloads or the pods of a job.",
    {
        "clusterqueue": "list_cluster_queues:cluster_queues",
        "localqueue": "list_local_queues:local_queues",
        "pods": "list_pods:pods",
        "resourceflavor": "list_resource_flavors:resource_flavors",
        "workload": "list_workloads:workloads",
    },
    summaries={
        "clusterqueue": "List ClusterQueues.",
        "localqueue": "List LocalQueues.",
        "pods": "List the pods of a job.",
        "resourceflavor": "List ResourceFlavors.",
        "workload": "List workloads.",
    },
)
