"""`kueuectl create`: queues and flavors from flags."""

from fleetqueue.cli.kueuectl.verbs import Verb

create = Verb(
    "create",
    "Create a queue or a flavor.",
    {
        "clusterqueue": "create_cluster_queue:cluster_queue",
        "localqueue": "create_local_queue:local_queue",
        "resourceflavor": "create_resource_flavor:resource_flavor",
    },
    summaries={
        "clusterqueue": "Create a ClusterQueue.",
        "localqueue": "Create a LocalQueue.",
        "resourceflavor": "Create a ResourceFlavor.",
    },
)
