"""The person as whom Kueue's suites ask: an administrator by a role, as on kind.

The one that a server makes by itself belongs to a group that servers let do everything without
asking, and so sees nothing of what happens when they cannot ask.
"""

from typing import Any

from support.server import Server

TOKEN, GROUP = "administrator-of-the-suites", "kubeadm:cluster-admins"
TOKENS = f'{TOKEN},kubernetes-admin,kubernetes-admin,"{GROUP}"\n'
"""The file with tokens that the server is started with."""
_RBAC = "rbac.authorization.k8s.io"


def administrator(server: Server) -> dict[str, Any]:
    """What the kubeconfig says of the user."""
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": GROUP},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": GROUP}],
    }
    with server.client() as client:
        answer = client.send("POST", f"/apis/{_RBAC}/v1/clusterrolebindings", binding)
        assert answer.status == 201, answer.body
    return {"token": TOKEN}
