"""The checks of the Pod Security Standards: what a pod does that its namespace may not want.

Each check takes a pod's metadata and spec and returns (reason, detail), or None where all is well.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields

Object = Mapping[str, Any]
Finding = tuple[str, str]
Check = Callable[[Object, Object], Finding | None]

CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_PROFILES = ("RuntimeDefault", "Localhost")


def shown(found: Iterable[Finding]) -> str:
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in found)


def _containers(spec: Object) -> Iterator[Object]:
    for kind in _CONTAINERS:
        yield from spec.get(kind) or ()


def _context(holder: Object) -> Object:
    return holder.get("securityContext") or {}


def _quoted(values: Iterable[str]) -> str:
    return ", ".join(f'"{value}"' for value in values)


def _named(word: str, values: list[str]) -> str:
    return f"{_plural(word, values)} {_quoted(values)}"


def _plural(word: str, values: Any, many: str = "") -> str:
    return word if len(values) == 1 else many or f"{word}s"


def _who(spec: Object, is_bad: Callable[[Object], bool]) -> str:
    """The pod and the containers whose security context is bad, as one subject."""
    setters = ["pod"] if is_bad(_context(spec)) else []
    bad = [c.get("name", "") for c in _containers(spec) if is_bad(_context(c))]
    if bad:
        setters.append(_named("container", bad))
    return " and ".join(setters)


def _values(spec: Object, read: Callable[[Object], str | None]) -> list[str]:
    holders = (spec, *_containers(spec))
    return sorted({value for h in holders if (value := read(_context(h))) is not None})


def app_armor(metadata: Object, spec: Object) -> Finding | None:
    def read(context: Object) -> str | None:
        profile = context.get("appArmorProfile")
        of = None if profile is None else profile.get("type", "")
        return None if of in _PROFILES else of

    subjects = [who] if (who := _who(spec, lambda context: read(context) is not None)) else []
    values = _values(spec, read)
    annotations = metadata.get("annotations") or {}
    odd = sorted(
        f"{key}={fields.show(value)}"
        for key, value in annotations.items()
        if key.startswith(APP_ARMOR)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    if odd:
        subjects.append(_plural("annotation", odd))
        values += odd
    if not subjects:
        return None
    detail = f"{' and '.join(subjects)} must not set AppArmor profile type to {_quoted(values)}"
    return _plural("forbidden AppArmor profile", values), detail


def capabilities_baseline(metadata: Object, spec: Object) -> Finding | None:
    bad, extra = [], set()
    for container in _containers(spec):
        added = (_context(container).get("capabilities") or {}).get("add") or ()
        odd = set(added) - CAPABILITIES
        if odd:
            bad.append(container.get("name", ""))
            extra |= odd
    if not bad:
        return None
    where = "in securityContext.capabilities.add"
    detail = f"{_named('container', bad)} must not include {_quoted(sorted(extra))} {where}"
    return "non-default capabilities", detail


def host_namespaces(metadata: Object, spec: Object) -> Finding | None:
    used = [f"{n}=true" for n in ("hostNetwork", "hostPID", "hostIPC") if spec.get(n)]
    return ("host namespaces", ", ".join(used)) if used else None


def host_paths(metadata: Object, spec: Object) -> Finding | None:
    volumes = spec.get("volumes") or ()
    bad = [volume.get("name", "") for volume in volumes if volume.get("hostPath") is not None]
    return ("hostPath volumes", _named("volume", bad)) if bad else None


def host_ports(metadata: Object, spec: Object) -> Finding | None:
    bad, ports = [], set()
    for container in _containers(spec):
        own = {str(p["hostPort"]) for p in container.get("ports") or () if p.get("hostPort")}
        if own:
            bad.append(container.get("name", ""))
            ports |= own
    if not bad:
        return None
    verb, noun = _plural("uses", bad, "use"), _plural("hostPort", ports)
    return "hostPort", f"{_named('container', bad)} {verb} {noun} {', '.join(sorted(ports))}"


def probe_hosts(metadata: Object, spec: Object) -> Finding | None:
    bad, hosts = set(), set()
    for container in _containers(spec):
        lifecycle = container.get("lifecycle") or {}
        probes = [container.get(f"{kind}Probe") for kind in ("liveness", "readiness", "startup")]
        for handler in (*probes, lifecycle.get("postStart"), lifecycle.get("preStop")):
            for kind in ("httpGet", "tcpSocket"):
                host = ((handler or {}).get(kind) or {}).get("host")
                if host:
                    bad.add(container.get("name", ""))
                    hosts.add(host)
    if not bad:
        return None
    verb, noun = _plural("uses", bad, "use"), _plural("probe or lifecycle host", hosts)
    detail = f"{_named('container', sorted(bad))} {verb} {noun} {_quoted(sorted(hosts))}"
    return "probe or lifecycle host", detail


def privileged(metadata: Object, spec: Object) -> Finding | None:
    bad = [c.get("name", "") for c in _containers(spec) if _context(c).get("privileged")]
    if not bad:
        return None
    return "privileged", f"{_named('container', bad)} must not set securityContext.privileged=true"


def proc_mount(metadata: Object, spec: Object) -> Finding | None:
    bad, odd = [], set()
    for container in _containers(spec):
        mount = _context(container).get("procMount")
        if mount not in (None, "Default"):
            bad.append(container.get("name", ""))
            odd.add(mount)
    if not bad:
        return None
    where = "must not set securityContext.procMount to"
    return "procMount", f"{_named('container', bad)} {where} {_quoted(sorted(odd))}"


def selinux(types: frozenset[str], metadata: Object, spec: Object) -> Finding | None:
    def is_bad(context: Object) -> bool:
        options = context.get("seLinuxOptions") or {}
        is_odd = options.get("type", "") not in types
        return bool(is_odd or options.get("user") or options.get("role"))

    who = _who(spec, is_bad)
    if not who:
        return None
    options = [_context(h).get("seLinuxOptions") or {} for h in (spec, *_containers(spec))]
    odd = sorted({o.get("type", "") for o in options} - types)
    said = [f"{_plural('type', odd)} {_quoted(odd)}"] if odd else []
    for name in ("user", "role"):
        if any(option.get(name) for option in options):
            said.append(f"{name} may not be set")
    detail = f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(said)}"
    return "seLinuxOptions", detail


def _odd_seccomp(context: Object) -> str | None:
    profile = context.get("seccompProfile")
    of = None if profile is None else str(profile.get("type", ""))
    return None if of in _PROFILES else of


def seccomp_annotations(metadata: Object, spec: Object) -> Finding | None:
    """From the time when annotations chose the profile."""
    annotations = metadata.get("annotations") or {}
    keys = {SECCOMP_POD} | {f"{SECCOMP_CONTAINER}{c.get('name', '')}" for c in _containers(spec)}
    odd = sorted(
        f"{key}={fields.show(annotations[key])}"
        for key in keys & annotations.keys()
        if annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    )
    return (
        ("seccompProfile", f"forbidden {_plural('annotation', odd)} {', '.join(odd)}")
        if odd
        else None
    )


def seccomp_baseline(metadata: Object, spec: Object) -> Finding | None:
    who = _who(spec, lambda context: _odd_seccomp(context) is not None)
    if not who:
        return None
    odd = _quoted(_values(spec, _odd_seccomp))
    return "seccompProfile", f"{who} must not set securityContext.seccompProfile.type to {odd}"


def sysctls(allowed: frozenset[str], metadata: Object, spec: Object) -> Finding | None:
    listed = _context(spec).get("sysctls") or ()
    odd = [s.get("name", "") for s in listed if s.get("name") not in allowed]
    return ("forbidden sysctls", ", ".join(odd)) if odd else None


def windows_host_process(metadata: Object, spec: Object) -> Finding | None:
    who = _who(spec, lambda context: bool((context.get("windowsOptions") or {}).get("hostProcess")))
    if not who:
        return None
    detail = f"{who} must not set securityContext.windowsOptions.hostProcess=true"
    return "hostProcess", detail


def unless_windows(check: Check, metadata: Object, spec: Object) -> Finding | None:
    """What Windows does not know, its pods cannot set."""
    is_windows = (spec.get("os") or {}).get("name") == "windows"
    return None if is_windows else check(metadata, spec)


def escalation(metadata: Object, spec: Object) -> Finding | None:
    name = "allowPrivilegeEscalation"
    bad = [c.get("name", "") for c in _containers(spec) if _context(c).get(name) is not False]
    if not bad:
        return None
    detail = f"{_named('container', bad)} must set securityContext.{name}=false"
    return f"{name} != false", detail


def capabilities_restricted(metadata: Object, spec: Object) -> Finding | None:
    keeping, adding, extra = [], [], set()
    for container in _containers(spec):
        own = _context(container).get("capabilities") or {}
        if "ALL" not in (own.get("drop") or ()):
            keeping.append(container.get("name", ""))
        odd = set(own.get("add") or ()) - {"NET_BIND_SERVICE"}
        if odd:
            adding.append(container.get("name", ""))
            extra |= odd
    details = []
    if keeping:
        must = 'must set securityContext.capabilities.drop=["ALL"]'
        details.append(f"{_named('container', keeping)} {must}")
    if adding:
        must = f"must not include {_quoted(sorted(extra))} in securityContext.capabilities.add"
        details.append(f"{_named('container', adding)} {must}")
    if not details:
        return None
    return "unrestricted capabilities", "; ".join(details)


def restricted_volumes(metadata: Object, spec: Object) -> Finding | None:
    bad, kinds = [], set()
    for volume in spec.get("volumes") or ():
        of = next(
            (name for name, value in volume.items() if name != "name" and value is not None), ""
        )
        if of not in VOLUMES:
            bad.append(volume.get("name", ""))
            kinds.add(of or "unknown")
    if not bad:
        return None
    verb, noun = _plural("uses", bad, "use"), _plural("restricted volume type", kinds)
    detail = f"{_named('volume', bad)} {verb} {noun} {_quoted(sorted(kinds))}"
    return "restricted volume types", detail


def non_root(metadata: Object, spec: Object) -> Finding | None:
    name, reason = "runAsNonRoot", "runAsNonRoot != true"
    who = _who(spec, lambda context: context.get(name) is False)
    if who:
        return reason, f"{who} must not set securityContext.{name}=false"
    if _context(spec).get(name):
        return None
    bad = [c.get("name", "") for c in _containers(spec) if _context(c).get(name) is None]
    if not bad:
        return None
    return reason, f"pod or {_named('container', bad)} must set securityContext.{name}=true"


def root_user(metadata: Object, spec: Object) -> Finding | None:
    who = _who(spec, lambda context: context.get("runAsUser") == 0)
    return ("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def seccomp_restricted(metadata: Object, spec: Object) -> Finding | None:
    if (found := seccomp_baseline(metadata, spec)) is not None:
        return found
    if _context(spec).get("seccompProfile") is not None:
        return None
    bad = [
        c.get("name", "") for c in _containers(spec) if _context(c).get("seccompProfile") is None
    ]
    if not bad:
        return None
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return "seccompProfile", f"pod or {_named('container', bad)} {must}"
