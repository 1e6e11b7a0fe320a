"""Tables of who may do what: role bindings and certificates."""

from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.cells import AGE, NAME, NONE, at, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object


def _role(obj: Object) -> str:
    role = obj.get("roleRef") or {}
    return f"{role.get('kind') or ''}/{role.get('name') or ''}"


def _subjects(name: str, kind: str) -> Column:
    def cell(obj: Object) -> str:
        found = (one for one in obj.get("subjects") or () if one.get("kind") == kind)
        return ", ".join(_subject(one) for one in found)

    return Column(name, only(cell), priority=1)


def _subject(subject: Object) -> str:
    if subject["kind"] == "ServiceAccount":
        return f"{subject.get('namespace') or ''}/{subject.get('name') or ''}"
    return subject.get("name") or ""


def _requested(obj: Object) -> str:
    wanted = dig(obj, "spec", "expirationSeconds")
    return NONE if wanted is None else cells.seconds(wanted)


def _verdict(obj: Object) -> str:
    kinds = {one.get("type") for one in dig(obj, "status", "conditions") or ()}
    first = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    failed = ",Failed" if "Failed" in kinds else ""
    issued = ",Issued" if dig(obj, "status", "certificate") else ""
    return first + failed + issued


BINDING = Layout(
    (
        NAME,
        Column("Role", only(_role)),
        AGE,
        _subjects("Users", "User"),
        _subjects("Groups", "Group"),
        _subjects("ServiceAccounts", "ServiceAccount"),
    )
)

LAYOUTS = {
    ("rbac.authorization.k8s.io", "RoleBinding"): BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): BINDING,
    ("certificates.k8s.io", "CertificateSigningRequest"): Layout(
        (
            NAME,
            AGE,
            Column("SignerName", cells.text_at("spec", "signerName", default=NONE)),
            Column("Requestor", at("spec", "username")),
            Column("RequestedDuration", only(_requested)),
            Column("Condition", only(_verdict)),
        )
    ),
}
