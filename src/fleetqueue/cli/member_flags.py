"""The flags of a member, by the names that KubeFleet's member agent has for them."""

from fleetqueue.cli.flags import Flag
from fleetqueue.cli.hub_flags import NO_PPROF

OWN_PRICES = "no cloud is asked; prices come from --node-prices, or an annotation of the nodes"
LIMITER = "work-applier-requeue-rate-limiter"
SETTINGS = (
    Flag("kueue-aware-placements", "is_job_aware", True,
         "Jobs are followed to their end, and what a queue changes of them is no drift."),
    Flag("enable-work-applier-priority-queue", "uses_priorities", False,
         "Work on what changed last before what is looked at again."),
    Flag("work-applier-priority-linear-equation-coeff-a", "priority_a", -3.0,
         "How much a minute of age takes from the priority."),
    Flag("work-applier-priority-linear-equation-coeff-b", "priority_b", 100.0,
         "The priority of what is new."),
    Flag("property-provider", "provider", "none",
         "Where properties come from: none, fleetqueue, azure or one that is installed."),
    Flag("use-cost-properties-in-azure-provider", "reports_costs", True, "Tell costs."),
    Flag("use-available-res-properties-in-azure-provider", "reports_available", True,
         "Tell what is left."),
    Flag("enable-namespace-collection-in-property-provider", "collects_namespaces", False,
         "Tell namespaces."),
)  # fmt: skip
REQUEUE = (
    Flag(f"{LIMITER}-attempts-with-fixed-delay", "fixed_attempts", 1,
         "How often a Work is looked at with the fixed delay."),
    Flag(f"{LIMITER}-fixed-delay-seconds", "fixed_seconds", 5.0, "That delay."),
    Flag(f"{LIMITER}-exponential-base-for-slow-backoff", "slow_base", 1.2,
         "How the delays grow next."),
    Flag(f"{LIMITER}-initial-slow-backoff-delay-seconds", "slow_first_seconds", 2.0,
         "The first of these."),
    Flag(f"{LIMITER}-max-slow-backoff-delay-seconds", "slow_max_seconds", 15.0,
         "The longest of these."),
    Flag(f"{LIMITER}-exponential-base-for-fast-backoff", "fast_base", 1.5,
         "How the delays grow at last."),
    Flag(f"{LIMITER}-max-fast-backoff-delay-seconds", "fast_max_seconds", 900.0,
         "The longest of all."),
    Flag(f"{LIMITER}-skip-to-fast-backoff-for-available-or-diff-reported-work-objs",
         "skips_to_fast", True, "Where all is well, delays grow fast at once."),
)  # fmt: skip
HUB = (
    Flag("use-ca-auth", "uses_certificate", False,
         "Show the hub a certificate (IDENTITY_CERT, IDENTITY_KEY), not a token."),
    Flag("tls-insecure", "is_insecure", False, "Believe whoever answers for the hub."),
)  # fmt: skip
DELETION = Flag("deletion-wait-time", "minutes", 5,
                "How many minutes what a Work placed has to go.", least=1, most=60)  # fmt: skip
ADDRESSES = (
    Flag("metrics-bind-address", "metrics", ":8090", "Where metrics are served; 0: nowhere."),
    Flag("hub-metrics-bind-address", "hub_metrics", "0", "The same page once more."),
    Flag("health-probe-bind-address", "health", ":8091",
         "Where /healthz and /readyz are answered; 0: nowhere."),
    Flag("hub-health-probe-bind-address", "hub_health", "0", "The same once more."),
)  # fmt: skip
PACE = (
    Flag("hub-api-qps", "hub_qps", 0.0,
         "How many calls a second the hub gets at most; 0: no limit."),
    Flag("hub-api-burst", "hub_burst", 500, "How many at once after a rest."),
    Flag("member-api-qps", "own_qps", 0.0, "The same for the member itself."),
    Flag("member-api-burst", "own_burst", 1000, "The same for the member itself."),
)  # fmt: skip
ELECTION = (
    Flag("leader-elect", "elects", False, "Work only while holding the lease."),
    Flag("leader-election-namespace", "election_namespace", "kube-system",
         "Where the lease is, on the member."),
    Flag("leader-lease-duration", "lease", "15s", "How long it holds.", "span"),
    Flag("leader-renew-deadline", "renew_deadline", "10s", "How long the leader tries to renew it.",
         "span"),
    Flag("leader-retry-period", "retry", "2s", "How often anyone tries.", "span"),
)  # fmt: skip
PASSIVE = (
    Flag("enable-pprof", "", False, "Of no effect.", why_idle=NO_PPROF),
    Flag("pprof-port", "", 6065, "Of no effect.", why_idle=NO_PPROF),
    Flag("hub-pprof-port", "", 6066, "Of no effect.", why_idle=NO_PPROF),
    Flag("region", "", "", "Of no effect.", why_idle=OWN_PRICES),
    Flag("cloud-config", "", "/etc/kubernetes/provider/config.json", "Of no effect.",
         why_idle=OWN_PRICES),
    Flag("enable-v1beta1-apis", "", True, "Of no effect.",
         why_idle="there is no other version to enable instead"),
)  # fmt: skip
ALL = (*SETTINGS, DELETION, *REQUEUE, *HUB, *ADDRESSES, *PACE, *ELECTION, *PASSIVE)
