"""The Pod Security Standards by level and version: which checks a pod must pass.

A version is the minor number of the Kubernetes release whose standard a namespace asks for.
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from fleetqueue.apiserver.hooks import pod_security_checks as checks
from fleetqueue.apiserver.hooks.pod_security_checks import Check, Finding, unless_windows

LATEST = 34
SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    }
)
SYSCTLS_27 = SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
SYSCTLS_29 = SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
SYSCTLS_32 = SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
SELINUX_TYPES_31 = SELINUX_TYPES | {"container_engine_t"}


class Rule(NamedTuple):
    """What one matter has been checked by since which versions, the oldest first."""

    since: Mapping[int, Check]
    replaces: "Rule | None" = None
    """The rule of the baseline that this one makes superfluous."""

    def at(self, version: int) -> Check | None:
        known = [check for since, check in self.since.items() if since <= version]
        return known[-1] if known else None


_HOST_PATHS = Rule({0: checks.host_paths})
_CAPABILITIES = Rule({0: checks.capabilities_baseline})
_SECCOMP = Rule({0: checks.seccomp_annotations, 19: checks.seccomp_baseline})

BASELINE = (
    Rule({0: checks.app_armor}),
    _CAPABILITIES,
    Rule({0: checks.host_namespaces}),
    _HOST_PATHS,
    Rule({0: checks.host_ports}),
    Rule({34: checks.probe_hosts}),
    Rule({0: checks.privileged}),
    Rule({0: checks.proc_mount}),
    Rule(
        {0: partial(checks.selinux, SELINUX_TYPES), 31: partial(checks.selinux, SELINUX_TYPES_31)}
    ),
    _SECCOMP,
    Rule(
        {
            0: partial(checks.sysctls, SYSCTLS),
            27: partial(checks.sysctls, SYSCTLS_27),
            29: partial(checks.sysctls, SYSCTLS_29),
            32: partial(checks.sysctls, SYSCTLS_32),
        }
    ),
    Rule({0: checks.windows_host_process}),
)
RESTRICTED = (
    Rule({8: checks.escalation, 25: partial(unless_windows, checks.escalation)}),
    Rule(
        {
            22: checks.capabilities_restricted,
            25: partial(unless_windows, checks.capabilities_restricted),
        },
        replaces=_CAPABILITIES,
    ),
    Rule({0: checks.restricted_volumes}, replaces=_HOST_PATHS),
    Rule({0: checks.non_root}),
    Rule({23: checks.root_user}),
    Rule(
        {
            19: checks.seccomp_restricted,
            25: partial(unless_windows, checks.seccomp_restricted),
        },
        replaces=_SECCOMP,
    ),
)


def findings(
    level: str, version: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]
) -> list[Finding]:
    """Everything that violates the level, in the order of the checks' names."""
    found = (check(metadata, spec) for check in checks_of(level, version))
    return [finding for finding in found if finding is not None]


@cache
def checks_of(level: str, version: str) -> tuple[Check, ...]:
    """`version` as labels name it: "latest" or "v1.x"."""
    minor = LATEST if version == "latest" else min(int(version.removeprefix("v1.")), LATEST)
    if level == "privileged":
        return ()
    if level == "baseline":
        return _in_force(BASELINE, minor)
    replaced = [rule.replaces for rule in RESTRICTED if rule.replaces and rule.at(minor)]
    kept = tuple(rule for rule in BASELINE if not any(rule is other for other in replaced))
    return _in_force(kept + RESTRICTED, minor)


def _in_force(rules: tuple[Rule, ...], version: int) -> tuple[Check, ...]:
    return tuple(check for rule in rules if (check := rule.at(version)) is not None)
