"""The flags of a hub, by the names that KubeFleet's hub agent has for them."""

from fleetqueue.cli.flags import Flag

HOUR = 3600.0
SETTINGS = (
    Flag("kueue-aware-placements", "is_job_aware", True,
         "Jobs are followed to their end, and what a queue changes of them is no drift."),
    Flag("enable-webhook", "enable_webhook", True, "Check what is written on the hub."),
    Flag("enable-guard-rail", "enable_guard_rail", False,
         "Keep people from changing what belongs to the fleet."),
    Flag("whitelisted-users", "whitelisted_users", "", "Whom the guard rail lets pass.", "list"),
    Flag("deny-modify-member-cluster-labels", "deny_modify_member_cluster_labels", False,
         "Only masters may change labels of fleet members."),
    Flag("enable-workload", "enable_workload", False, "Allow pods and ReplicaSets on the hub."),
    Flag("enable-pdbs", "enable_pdbs", True, "Allow PodDisruptionBudgets on the hub."),
    Flag("enable-cluster-inventory-apis", "enable_cluster_inventory", True,
         "Show members as ClusterProfiles."),
    Flag("enable-staged-update-run-apis", "enable_update_runs", True, "Run staged updates."),
    Flag("enable-eviction-apis", "enable_evictions", True, "Carry evictions out."),
    Flag("enable-resource-placement", "enable_resource_placement", True,
         "Place what is in one namespace, by ResourcePlacements."),
    Flag("networking-agents-enabled", "networking_agents_enabled", False,
         "Members have agents for networking too."),
    Flag("cluster-unhealthy-threshold", "cluster_unhealthy_seconds", "60s",
         "How old the last heartbeat of a healthy member is at most.", "span", 30.0, HOUR),
    Flag("force-delete-wait-time", "force_delete_seconds", "15m",
         "How long a member that leaves has to say so.", "span", 30.0, HOUR),
    Flag("skipped-propagating-apis", "skipped_apis", "", "Kinds that are never placed."),
    Flag("allowed-propagating-apis", "allowed_apis", "", "The only kinds that are placed."),
    Flag("skipped-propagating-namespaces", "skipped_namespaces", "",
         "Namespaces of which nothing is placed.", "list"),
    Flag("resource-snapshot-creation-minimum-interval", "snapshot_interval_seconds", "30s",
         "How far apart two snapshots of a placement are.", "span", 0.0, 300.0),
    Flag("resource-changes-collection-duration", "collection_seconds", "15s",
         "How long changes are collected for one snapshot.", "span", 0.0, 60.0),
    Flag("max-fleet-size", "max_fleet_size", 100, "How many members there may be.",
         least=30, most=200),
    Flag("enable-v1beta1-apis", "", True, "Must stay true."),
    Flag("enable-admission-policy-manager", "", False, "Keep admission policies on the hub."),
    Flag("admission-policy-manager-config", "", "", "A file that says which, as YAML."),
)  # fmt: skip
ELECTION = (
    Flag("leader-elect", "elects", False, "Work only while holding the lease."),
    Flag("leader-election-namespace", "election_namespace", "fleet-system",
         "Where the lease is."),
    Flag("leader-lease-duration", "lease", "60s", "How long it holds.", "span"),
    Flag("leader-renew-deadline", "renew_deadline", "45s", "How long the leader tries to renew it.",
         "span"),
    Flag("leader-retry-period", "retry", "5s", "How often anyone tries.", "span"),
)  # fmt: skip
REACH = (
    Flag("webhook-client-connection-type", "connection", "service",
         "How the API server reaches the webhooks: by --webhook-url (url), or by the Service."),
    Flag("webhook-service-name", "service", "fleetwebhook", "The Service before them."),
    Flag("metrics-bind-address", "metrics_address", ":8080",
         "Where metrics are served; 0: nowhere."),
)  # fmt: skip
