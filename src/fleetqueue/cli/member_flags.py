"""The flags of a member, by the names that KubeFleet's member agent has for them."""

from fleetqueue.cli.flags import Flag

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
PASSIVE = (
    Flag("region", "", "", "Understood, and of no effect: prices come from --node-prices."),
    Flag("cloud-config", "", "", "The same."),
    Flag("enable-v1beta1-apis", "", True, "Of no effect."),
)  # fmt: skip
