"""Rules for what depends on the operating system of a pod, Windows above all."""

import re
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, wrongs

Object = Mapping[str, Any]

SPEC_KIB_MAX = 64
DOMAIN_LENGTH_MAX = 256
USER_LENGTH_MAX = 104

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_BAD_USER = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_ONLY_DOTS = re.compile(r"[. ]+")

_POD_CONTEXT = (
    "appArmorProfile",
    "seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "shareProcessNamespace",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_ON_THE_SPEC = frozenset({"hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"})
_CONTAINER_CONTEXT = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def validate_system(spec: Object, path: str) -> Errors:
    system = spec.get("os")
    if system is None:
        return []
    name = system.get("name", "")
    if not name:
        return [fields.required(f"{path}.os.name")]
    if name not in ("linux", "windows"):
        return [fields.unsupported(f"{path}.os", name, ("linux", "windows"))]
    return _validate_linux(spec, path) if name == "linux" else _validate_windows(spec, path)


def validate_windows_options(options: Object | None, path: str) -> Errors:
    if options is None:
        return []
    errors: Errors = []
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        errors += wrongs(f"{path}.gmsaCredentialSpecName", name, names.dns1123_subdomain(name))
    if (content := options.get("gmsaCredentialSpec")) is not None:
        below = f"{path}.gmsaCredentialSpec"
        if not content:
            why = "gmsaCredentialSpec cannot be an empty string"
            errors.append(fields.wrong(below, content, why))
        elif len(content.encode()) > SPEC_KIB_MAX * 1024:
            why = f"gmsaCredentialSpec size must be under {SPEC_KIB_MAX} KiB"
            errors.append(fields.wrong(below, content, why))
    if (user := options.get("runAsUserName")) is not None:
        errors += wrongs(f"{path}.runAsUserName", user, _user_name_problems(user))
    return errors


def validate_host_processes(spec: Object, path: str) -> Errors:
    """Windows containers that run on the host: all of a pod's or none."""
    errors: Errors = []
    of_pod = _host_process(spec)
    counts = []
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            own = _host_process(container)
            if of_pod is not None and own is not None and of_pod != own:
                shown = str(of_pod).lower()
                why = f"pod hostProcess value must be identical if both are specified, was {shown}"
                below = f"{path}.{kind}[{index}].securityContext.windowsOptions.hostProcess"
                errors.append(fields.wrong(below, own, why))
            counts.append(bool(of_pod if own is None else own))
    if not any(counts):
        return errors
    if not all(counts):
        why = (
            "If pod contains any hostProcess containers then all containers "
            "must be HostProcess containers"
        )
        errors.append(fields.wrong(path, "", why))
    if not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(fields.wrong(f"{path}.hostNetwork", False, why))
    return errors


def _host_process(holder: Object) -> bool | None:
    context = holder.get("securityContext") or {}
    found: bool | None = (context.get("windowsOptions") or {}).get("hostProcess")
    return found


def _user_name_problems(value: str) -> list[str]:
    if not value:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL.search(value):
        return ["runAsUserName cannot contain control characters"]
    parts = value.split("\\")
    if len(parts) > 2:
        return ["runAsUserName cannot contain more than one backslash"]
    problems = _domain_problems(parts[0]) if len(parts) == 2 else []
    return problems + _user_problems(parts[-1])


def _domain_problems(domain: str) -> list[str]:
    problems = []
    if len(domain) >= DOMAIN_LENGTH_MAX:
        problems.append(
            f"runAsUserName's Domain length must be under {DOMAIN_LENGTH_MAX} characters"
        )
    if not _NET_BIOS.fullmatch(domain) and not _DNS.fullmatch(domain):
        problems.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    return problems


def _user_problems(user: str) -> list[str]:
    problems = []
    if not user:
        problems.append("runAsUserName's User cannot be empty")
    elif len(user) > USER_LENGTH_MAX:
        problems.append(
            f"runAsUserName's User length must not be longer than {USER_LENGTH_MAX} characters"
        )
    if _ONLY_DOTS.fullmatch(user):
        problems.append("runAsUserName's User cannot contain only periods or spaces")
    if _BAD_USER.search(user):
        problems.append(
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"
        )
    return problems


def _validate_linux(spec: Object, path: str) -> Errors:
    why = "windows options cannot be set for a linux pod"
    return [
        fields.forbidden(f"{below}.securityContext.windowsOptions", why)
        for holder, below in _holders(spec, path)
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None
    ]


def _validate_windows(spec: Object, path: str) -> Errors:
    why = "cannot be set for a windows pod"
    context = spec.get("securityContext") or {}
    errors: Errors = []
    for name in _POD_CONTEXT:
        if name in _ON_THE_SPEC:
            value, below = spec.get(name), f"{path}.{name}"
        else:
            value, below = context.get(name), f"{path}.securityContext.{name}"
        is_set = bool(value) if name in ("hostPID", "hostIPC", "sysctls") else value is not None
        if is_set:
            errors.append(fields.forbidden(below, why))
    for container, below in _holders(spec, path)[1:]:
        own = container.get("securityContext") or {}
        errors += [
            fields.forbidden(f"{below}.securityContext.{name}", why)
            for name in _CONTAINER_CONTEXT
            if own.get(name) is not None
        ]
    return errors


def _holders(spec: Object, path: str) -> list[tuple[Object, str]]:
    """The pod itself and its containers, with their paths."""
    return [(spec, path)] + [
        (container, f"{path}.{kind}[{index}]")
        for kind in ("initContainers", "containers", "ephemeralContainers")
        for index, container in enumerate(spec.get(kind) or ())
    ]
