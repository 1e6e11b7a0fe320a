"""Decides how a MultiKueueCluster is reached: an access, or the reason and the text of its
condition. Pure: the secret, the file and the profile are given.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.kueue.config.types import AccessProvider, ExecConfig
from fleetqueue.kube import kubeconfig_entries as entries
from fleetqueue.kube import secure_kubeconfig
from fleetqueue.kube.kubeconfig import Access, Material
from fleetqueue.kube.resources import Object
from fleetqueue.kube.secure_kubeconfig import Unsafe

BAD_KUBECONFIG = "BadKubeConfig"
INSECURE = "InsecureKubeConfig"
BAD_PROFILE = "BadClusterProfile"
BAD_REST_CONFIG = "BadRestConfig"
PROFILES_OFF = "MultiKueueClusterProfileFeatureDisabled"
SECRET_KEY = "kubeconfig"
EXEC_EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True, slots=True)
class Found:
    """How to get there; `content` is what a change is known by."""

    access: Access
    content: bytes


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why nobody can get there."""

    reason: str
    message: str
    waits: bool = False
    """Whether only another object can end it, so that there is no use in trying again."""


Loaded = Found | Trouble


def kubeconfig_of(cluster: Object) -> Object | None:
    return _source(cluster).get("kubeConfig")


def secret_name(cluster: Object) -> str:
    """The Secret that the cluster names; "" where its kubeconfig is elsewhere."""
    found = kubeconfig_of(cluster)
    return "" if found is None or _is_path(found) else str(found.get("location") or "")


def path_of(cluster: Object) -> str | None:
    """The file that the cluster names, which may be ""; None where its kubeconfig is elsewhere."""
    found = kubeconfig_of(cluster)
    return str(found.get("location") or "") if found is not None and _is_path(found) else None


def profile_name(cluster: Object) -> str:
    return str((_source(cluster).get("clusterProfileRef") or {}).get("name") or "")


def from_secret(name: str, secret: Object | None) -> Loaded:
    if secret is None:
        return Trouble(BAD_KUBECONFIG, f'Secret "{name}" not found', waits=True)
    data = secret.get("data") or {}
    if SECRET_KEY not in data:
        return Trouble(BAD_KUBECONFIG, f'key "{SECRET_KEY}" not found in secret "{name}"')
    return from_content(_decoded(str(data[SECRET_KEY] or "")))


def from_content(content: bytes) -> Loaded:
    try:
        return Found(secure_kubeconfig.read(content), content)
    except Unsafe as error:
        return Trouble(INSECURE, str(error))


def without_source() -> Trouble:
    return Trouble(BAD_KUBECONFIG, "kubeconfig reference is nil")


def from_profile(
    name: str,
    profile: Object | None,
    providers: Sequence[AccessProvider],
    *,
    is_enabled: bool,
) -> Loaded:
    if not is_enabled:
        return Trouble(PROFILES_OFF, "MultiKueueClusterProfile feature gate is disabled")
    if profile is None:
        text = f'ClusterProfile.multicluster.x-k8s.io "{name}" not found'
        return Trouble(BAD_PROFILE, text, waits=True)
    if not providers:
        return Trouble(BAD_PROFILE, "no access provider configured")
    offered = _offered(profile)
    chosen = next((each for each in providers if each.name in offered), None)
    if chosen is None:
        text = f'no matching cluster accessor found for cluster profile "{name}"'
        return Trouble(BAD_PROFILE, text)
    if not chosen.exec_config.command:
        return Trouble(BAD_PROFILE, f'no exec config found for provider "{chosen.name}"')
    return _checked(_profile_access(offered[chosen.name], chosen.exec_config))


def _checked(access: Access) -> Loaded:
    try:
        secure_kubeconfig.check_access(access, may_run_programs=True)
    except Unsafe as error:
        return Trouble(BAD_REST_CONFIG, str(error))
    return Found(access, repr(access).encode())


def _profile_access(cluster: Mapping[str, Any], plugin: ExecConfig) -> Access:
    """Only this much of a profile is trusted; arguments and environment are the configuration's."""
    authority = str(cluster.get("certificate-authority-data") or "")
    return Access(
        server=secure_kubeconfig.with_scheme(str(cluster.get("server") or "")),
        authority=Material(_decoded(authority)) if authority else None,
        proxy_url=str(cluster.get("proxy-url") or ""),
        exec=_without_questions(plugin),
        exec_cluster_config=_extension(cluster),
    )


def _without_questions(plugin: ExecConfig) -> entries.ExecConfig:
    """Nobody sits in front of a controller."""
    return entries.ExecConfig(
        command=plugin.command,
        api_version=plugin.api_version,
        args=list(plugin.args),
        env=[entries.ExecVariable(each.name, each.value) for each in plugin.env],
        install_hint=plugin.install_hint,
        provide_cluster_info=plugin.provide_cluster_info,
        interactive_mode="Never",
    )


def _offered(profile: Object) -> dict[str, Mapping[str, Any]]:
    status = profile.get("status") or {}
    listed = (*(status.get("credentialProviders") or ()), *(status.get("accessProviders") or ()))
    return {str(each.get("name") or ""): each.get("cluster") or {} for each in listed}


def _extension(cluster: Mapping[str, Any]) -> Any:
    for each in cluster.get("extensions") or ():
        if each.get("name") == EXEC_EXTENSION:
            return each.get("extension")
    return None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""


def _is_path(source: Object) -> bool:
    return source.get("locationType") == "Path"


def _source(cluster: Object) -> Object:
    found: Object = (cluster.get("spec") or {}).get("clusterSource") or {}
    return found
