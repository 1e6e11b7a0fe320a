"""Documents of the paths that are no resources: discovery, the version, the token issuer."""

from typing import Any

from fleetqueue.apiserver.openapi import naming
from fleetqueue.apiserver.openapi.naming import META, reference
from fleetqueue.apiserver.openapi.operations import JSON, PROTOBUF, TEXT, YAML, responses

Object = dict[str, Any]

_ALL = (JSON, YAML, PROTOBUF)


def fixed() -> dict[str, dict[str, Object]]:
    """Document name -> its paths, for the pages that are always there."""
    info = reference("io.k8s.apimachinery.pkg.version.Info")
    return {
        ".well-known/openid-configuration": {
            "/.well-known/openid-configuration/": _page(
                "WellKnown", "getServiceAccountIssuerOpenIDConfiguration", TEXT, (JSON,)
            )
        },
        "api": {"/api/": _page("core", "getCoreAPIVersions", _meta("APIVersions"), _ALL)},
        "apis": {"/apis/": _page("apis", "getAPIVersions", _meta("APIGroupList"), _ALL)},
        "openid/v1/jwks": {
            "/openid/v1/jwks/": _page(
                "openid",
                "getServiceAccountIssuerOpenIDKeyset",
                TEXT,
                ("application/jwk-set+json",),
            )
        },
        "version": {"/version/": _page("version", "getCodeVersion", info, (JSON,))},
    }


def group(name: str) -> dict[str, Object]:
    """The page of a built-in group."""
    home = naming.identifier(name.removesuffix(".k8s.io"), capital=True)
    page = _page(naming.tag(name), f"get{home}APIGroup", _meta("APIGroup"), _ALL)
    return {f"/apis/{name}/": page}


def group_version(name: str, version: str) -> dict[str, Object]:
    """The page that lists the resources of a built-in group version."""
    operation = naming.operation_id("get", name, version, "APIResources")
    page = _page(naming.tag(name, version), operation, _meta("APIResourceList"), _ALL)
    return {f"{naming.base_path(name, version)}/": page}


def _page(tag: str, operation: str, schema: Object, kinds: tuple[str, ...]) -> Object:
    return {
        "get": {
            "tags": [tag],
            "operationId": operation,
            "responses": responses((200,), schema, kinds),
        }
    }


def _meta(kind: str) -> Object:
    return reference(f"{META}{kind}")
