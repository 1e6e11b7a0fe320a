"""Rules for security contexts, of pods and of containers."""

import re
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, one_of, wrongs
from fleetqueue.apiserver.builtin.file_paths import validate_descending
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.pod_windows import validate_windows_options

Object = Mapping[str, Any]

PROFILE_LENGTH_MAX = 4095
PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
SYSCTL_LENGTH_MAX = 253
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SYSCTL_PART}[\./])*{_SYSCTL_PART}$"
_SYSCTL_PATTERN = re.compile(_SYSCTL, re.ASCII)
_IPC_SYSCTLS = frozenset(
    f"kernel.{name}"
    for name in (
        *("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm"),
        *("msgmax", "msgmnb", "msgmni", "msg"),
    )
)


def validate_container_security(
    context: Object | None, path: str, uses_host_users: bool = True
) -> Errors:
    if context is None:
        return []
    errors = _validate_identities(context, ("runAsUser", "runAsGroup"), path)
    mount = context.get("procMount")
    errors += one_of(mount, ("Default", "Unmasked"), f"{path}.procMount")
    if uses_host_users and mount == "Unmasked":
        why = "`hostUsers` must be false to use `Unmasked`"
        errors.append(fields.wrong(f"{path}.procMount", mount, why))
    errors += validate_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    errors += _validate_escalation(context, path)
    errors += validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    return errors + validate_app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def validate_pod_security(spec: Object, path: str, any_sysctl: bool, any_label: bool) -> Errors:
    """`any_sysctl` and `any_label` spare what an older pod already has."""
    context = spec.get("securityContext")
    if context is None:
        return []
    errors = _validate_identities(context, ("fsGroup", "runAsUser", "runAsGroup"), path)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        errors += wrongs(f"{path}.supplementalGroups[{index}]", group, names.group_id(group))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(fields.wrong(f"{path}.shareProcessNamespace", True, why))
    errors += _validate_sysctls(spec, context, f"{path}.sysctls", any_sysctl)
    policies = ("Always", "OnRootMismatch")
    errors += one_of(context.get("fsGroupChangePolicy"), policies, f"{path}.fsGroupChangePolicy")
    errors += validate_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    errors += validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    errors += validate_app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")
    policy = context.get("supplementalGroupsPolicy")
    errors += one_of(policy, ("Merge", "Strict"), f"{path}.supplementalGroupsPolicy")
    changes = ("MountOption", "Recursive") if any_label else ("Recursive",)
    return errors + one_of(
        context.get("seLinuxChangePolicy"), changes, f"{path}.seLinuxChangePolicy"
    )


def validate_seccomp(profile: Object | None, path: str) -> Errors:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    errors: Errors = []
    if not kind:
        why = "type is required when seccompProfile is set"
        errors.append(fields.required(f"{path}.type", why))
    else:
        errors += one_of(kind, PROFILE_TYPES, f"{path}.type")
    below = f"{path}.localhostProfile"
    if kind != "Localhost":
        if local is not None:
            why = "can only be set when seccomp type is Localhost"
            shown = show_internal("SeccompProfile", profile)
            errors.append(fields.wrong(below, shown, why))
    elif local is None:
        errors.append(fields.required(below, "must be set when seccomp type is Localhost"))
    else:
        errors += validate_descending(local, below)
    return errors


def validate_app_armor(profile: Object | None, path: str) -> Errors:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        return [fields.required(f"{path}.type", "type is required when appArmorProfile is set")]
    if kind not in PROFILE_TYPES:
        return [fields.unsupported(f"{path}.type", kind, PROFILE_TYPES)]
    if kind == "Localhost":
        return _validate_local_app_armor(local, f"{path}.localhostProfile")
    if local is None:
        return []
    why = "can only be set when AppArmor type is Localhost"
    return [fields.wrong(f"{path}.localhostProfile", local, why)]


def is_foreign_sysctl(name: str, spec: Object) -> bool:
    """The pod shares with its host what the setting would change."""
    return bool(_host_sysctl_problem(name, spec))


def _validate_local_app_armor(local: str | None, path: str) -> Errors:
    if local is None or not local:
        return [fields.required(path, "must be set when AppArmor type is Localhost")]
    errors: Errors = []
    if local.strip() != local:
        errors.append(fields.wrong(path, local, "must not be padded with whitespace"))
    if len(local.encode()) > PROFILE_LENGTH_MAX:
        errors.append(fields.too_long(path, PROFILE_LENGTH_MAX))
    return errors


def _validate_identities(context: Object, keys: tuple[str, ...], path: str) -> Errors:
    errors: Errors = []
    for key in keys:
        if (value := context.get(key)) is not None:
            errors += wrongs(f"{path}.{key}", value, names.user_id(value))
    return errors


def _validate_escalation(context: Object, path: str) -> Errors:
    if context.get("allowPrivilegeEscalation") is not False:
        return []
    shown = show_internal("SecurityContext", context)
    errors: Errors = []
    if context.get("privileged"):
        why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(fields.wrong(path, shown, why))
    added = (context.get("capabilities") or {}).get("add") or ()
    why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
    return errors + [fields.wrong(path, shown, why) for name in added if name == "CAP_SYS_ADMIN"]


def _validate_sysctls(spec: Object, context: Object, path: str, any_sysctl: bool) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, sysctl in enumerate(context.get("sysctls") or ()):
        name, below = sysctl.get("name", ""), f"{path}[{index}].name"
        if not name:
            errors.append(fields.required(below))
        elif len(name) > SYSCTL_LENGTH_MAX or not _SYSCTL_PATTERN.fullmatch(name):
            why = f"must have at most {SYSCTL_LENGTH_MAX} characters and match regex {_SYSCTL}"
            errors.append(fields.wrong(below, name, why))
        elif name in seen:
            errors.append(fields.duplicate(below, name))
        seen.add(name)
        if not any_sysctl and (problem := _host_sysctl_problem(name, spec)):
            errors.append(fields.wrong(below, name, problem))
    return errors


def _host_sysctl_problem(name: str, spec: Object) -> str:
    plain = _with_dots(name)
    if spec.get("hostNetwork") and plain.startswith("net."):
        return "may not be specified when 'hostNetwork' is true"
    is_ipc = plain in _IPC_SYSCTLS or plain.startswith("fs.mqueue.")
    if spec.get("hostIPC") and is_ipc:
        return "may not be specified when 'hostIPC' is true"
    return ""


def _with_dots(name: str) -> str:
    """Where a slash comes before the first dot, slashes part the name and dots are dots in it."""
    separator = re.search(r"[./]", name)
    if separator is None or separator[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))
