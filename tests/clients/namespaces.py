"""Namespaces to work in, on either server."""

from support.server import Server, wait_until


def make_namespace(server: Server, name: str) -> None:
    """A namespace in which pods can be made: its service account is there."""
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    roots = f"/api/v1/namespaces/{name}/configmaps/kube-root-ca.crt"
    with server.client() as client:
        made = client.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        assert made.status == 201, made.body
        for path in (account, roots):
            wait_until(path, lambda path=path: client.send("GET", path).status == 200)
