"""The official Python client against our server: typed, dynamic, watching, and how it is let in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import exceptions as dynamic_errors
from kubernetes.utils.create_from_yaml import FailToCreateError

from support.server import Server

TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.python.example.com"},
    "spec": {
        "group": "python.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1},
                                    "color": {"type": "string", "default": "red"},
                                },
                            },
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture
def api(kubeconfig: Path) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(kubeconfig)) as made:
        yield made


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


@pytest.fixture
def maker(api: client.ApiClient) -> dynamic.DynamicClient:
    return dynamic.DynamicClient(api)


@pytest.fixture
def gadgets(maker: dynamic.DynamicClient) -> Any:
    definitions = maker.resources.get(
        api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition"
    )
    definitions.server_side_apply(body=DEFINITION, field_manager="suite")
    for event in definitions.watch(
        field_selector=f"metadata.name={DEFINITION['metadata']['name']}"
    ):
        conditions = event["object"].status.conditions or []
        if any(one.type == "Established" and one.status == "True" for one in conditions):
            break
    return maker.resources.get(api_version="python.example.com/v1", kind="Gadget")


def config_map(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)


def test_typed_objects_are_created_read_listed_replaced_and_deleted(
    core: client.CoreV1Api, namespace: str
) -> None:
    made = core.create_namespaced_config_map(namespace, config_map("one", a="b"))
    assert made.metadata.uid
    assert made.metadata.creation_timestamp.tzinfo is not None
    read = core.read_namespaced_config_map("one", namespace)
    assert read.to_dict() == made.to_dict()
    read.data["c"] = "d"
    assert core.replace_namespaced_config_map("one", namespace, read).data == {"a": "b", "c": "d"}
    names = [item.metadata.name for item in core.list_namespaced_config_map(namespace).items]
    assert names == ["kube-root-ca.crt", "one"]
    gone = core.delete_namespaced_config_map("one", namespace)
    assert gone["status"] == "Success"
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_config_map("one", namespace)
    assert (refused.value.status, refused.value.reason) == (404, "Not Found")


def test_workloads_come_back_with_their_defaults(api: client.ApiClient, namespace: str) -> None:
    deployment = client.AppsV1Api(api).create_namespaced_deployment(
        namespace,
        {
            "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
        },
    )
    assert deployment.spec.replicas == 1
    assert deployment.spec.strategy.rolling_update.max_surge == "25%"
    job = client.BatchV1Api(api).create_namespaced_job(
        namespace,
        client.V1Job(
            metadata=client.V1ObjectMeta(generate_name="work-"),
            spec=client.V1JobSpec(
                suspend=True,
                template=client.V1PodTemplateSpec(
                    spec=client.V1PodSpec(
                        restart_policy="Never",
                        containers=[client.V1Container(name="one", image="busybox")],
                    )
                ),
            ),
        ),
    )
    assert job.metadata.name.startswith("work-")
    assert job.spec.selector.match_labels == {
        "batch.kubernetes.io/controller-uid": job.metadata.uid
    }
    scale = client.AppsV1Api(api).patch_namespaced_deployment_scale(
        "web", namespace, {"spec": {"replicas": 3}}
    )
    assert scale.spec.replicas == 3
    role = client.RbacAuthorizationV1Api(api).create_namespaced_role(
        namespace,
        client.V1Role(
            metadata=client.V1ObjectMeta(name="reader"),
            rules=[client.V1PolicyRule(api_groups=[""], resources=["pods"], verbs=["get"])],
        ),
    )
    assert role.rules[0].verbs == ["get"]


def test_a_status_is_replaced_without_the_specification(
    api: client.ApiClient, core: client.CoreV1Api, namespace: str
) -> None:
    pod = core.create_namespaced_pod(
        namespace, {"metadata": {"name": "one"}, "spec": TEMPLATE["spec"]}
    )
    pod.status.phase = "Running"
    pod.spec.priority_class_name = "ignored"
    core.replace_namespaced_pod_status("one", namespace, pod)
    read = core.read_namespaced_pod_status("one", namespace)
    assert read.status.phase == "Running"
    assert read.spec.priority_class_name is None


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json-patch+json", [{"op": "add", "path": "/data/c", "value": "d"}]),
        ("application/merge-patch+json", {"data": {"c": "d"}}),
        ("application/strategic-merge-patch+json", {"data": {"c": "d"}}),
        (
            "application/apply-patch+yaml",
            {"apiVersion": "v1", "kind": "ConfigMap", "data": {"c": "d"}},
        ),
    ],
)
def test_every_type_of_patch_is_taken(
    core: client.CoreV1Api, namespace: str, kind: str, body: Any
) -> None:
    core.create_namespaced_config_map(namespace, config_map("one", a="b"))
    patched = core.patch_namespaced_config_map(
        "one", namespace, body, _content_type=kind, field_manager="suite"
    )
    assert patched.data == {"a": "b", "c": "d"}


def test_a_list_comes_in_pages(core: client.CoreV1Api, namespace: str) -> None:
    for number in range(5):
        made = config_map(f"page-{number}")
        made.metadata.labels = {"paged": "yes"}
        core.create_namespaced_config_map(namespace, made)
    seen, token, left = [], None, []
    while token != "":
        page = core.list_namespaced_config_map(
            namespace, label_selector="paged=yes", limit=2, _continue=token
        )
        seen += [item.metadata.name for item in page.items]
        left.append(page.metadata.remaining_item_count)
        token = page.metadata._continue or ""
    assert seen == [f"page-{number}" for number in range(5)]
    # With a selector nobody knows how many are left.
    assert left == [None, None, None]
    with pytest.raises(ApiException) as refused:
        core.list_namespaced_config_map(namespace, limit=2, _continue="nonsense")
    assert refused.value.status == 400


def test_selectors_narrow_a_list(core: client.CoreV1Api, namespace: str) -> None:
    for name, tier in (("a", "front"), ("b", "back"), ("c", "")):
        made = config_map(name)
        made.metadata.labels = {"tier": tier} if tier else {}
        core.create_namespaced_config_map(namespace, made)

    def names(**selectors: str) -> list[str]:
        found = core.list_namespaced_config_map(namespace, **selectors).items
        return [item.metadata.name for item in found]

    assert names(label_selector="tier in (front, back)") == ["a", "b"]
    assert names(label_selector="!tier") == ["c", "kube-root-ca.crt"]
    assert names(field_selector="metadata.name=b") == ["b"]
    assert names(label_selector="tier!=front", field_selector="metadata.name!=c") == [
        "b",
        "kube-root-ca.crt",
    ]


def test_a_watch_sees_changes_and_resumes_where_it_stopped(
    core: client.CoreV1Api, namespace: str
) -> None:
    revision = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("one"))
    core.patch_namespaced_config_map("one", namespace, {"data": {"a": "b"}})
    stream = watch.Watch()
    seen = []
    for event in stream.stream(
        core.list_namespaced_config_map, namespace, resource_version=revision, timeout_seconds=20
    ):
        seen.append((event["type"], event["object"].data))
        if len(seen) == 2:
            stream.stop()
    assert seen == [("ADDED", None), ("MODIFIED", {"a": "b"})]
    core.delete_namespaced_config_map("one", namespace)
    again = watch.Watch()
    for event in again.stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=stream.resource_version,
        timeout_seconds=20,
    ):
        assert (event["type"], event["object"].metadata.name) == ("DELETED", "one")
        again.stop()


def test_a_watch_from_a_revision_that_is_gone_says_so(
    core: client.CoreV1Api, namespace: str
) -> None:
    revision = core.list_namespaced_config_map(namespace).metadata.resource_version
    large = config_map("large", text="x" * 1_000_000)
    core.create_namespaced_config_map(namespace, large)
    for number in range(30):
        core.patch_namespaced_config_map("large", namespace, {"data": {"number": str(number)}})
    with pytest.raises(ApiException) as refused:
        list(
            watch.Watch().stream(
                core.list_namespaced_config_map,
                namespace,
                resource_version=revision,
                timeout_seconds=5,
            )
        )
    assert refused.value.status == 410


def test_a_watch_ends_when_its_time_is_over(core: client.CoreV1Api, namespace: str) -> None:
    events = list(
        watch.Watch().stream(core.list_namespaced_config_map, namespace, timeout_seconds=1)
    )
    assert [event["object"].metadata.name for event in events] == ["kube-root-ca.crt"]


def test_delete_options_are_honoured(
    api: client.ApiClient, core: client.CoreV1Api, namespace: str
) -> None:
    core.create_namespaced_config_map(namespace, config_map("one"))
    with pytest.raises(ApiException) as refused:
        core.delete_namespaced_config_map(
            "one",
            namespace,
            body=client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another")),
        )
    assert refused.value.status == 409
    core.delete_namespaced_config_map("one", namespace, dry_run="All")
    core.delete_namespaced_config_map(
        "one", namespace, body=client.V1DeleteOptions(dry_run=["All"])
    )
    assert core.read_namespaced_config_map("one", namespace)
    core.create_namespaced_pod(
        namespace,
        {"metadata": {"name": "bound"}, "spec": {**TEMPLATE["spec"], "nodeName": "nowhere"}},
    )
    doomed = core.delete_namespaced_pod("bound", namespace, grace_period_seconds=7)
    assert doomed.metadata.deletion_grace_period_seconds == 7
    core.delete_namespaced_pod("bound", namespace, grace_period_seconds=0)
    core.delete_collection_namespaced_config_map(namespace, field_selector="metadata.name=one")
    names = [item.metadata.name for item in core.list_namespaced_config_map(namespace).items]
    assert names == ["kube-root-ca.crt"]


def test_refusals_carry_their_status(core: client.CoreV1Api, namespace: str) -> None:
    with pytest.raises(ApiException) as refused:
        core.create_namespaced_pod(
            namespace, {"metadata": {"name": "none"}, "spec": {"containers": []}}
        )
    assert refused.value.status == 422
    body = yaml.safe_load(refused.value.body)
    assert body["reason"] == "Invalid"
    assert body["details"]["causes"][0]["field"] == "spec.containers"
    core.create_namespaced_config_map(namespace, config_map("one"))
    with pytest.raises(ApiException) as refused:
        core.create_namespaced_config_map(namespace, config_map("one"))
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")


def test_objects_are_created_from_yaml(
    api: client.ApiClient, core: client.CoreV1Api, namespace: str, tmp_path: Path
) -> None:
    path = tmp_path / "all.yaml"
    documents = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
        },
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}],
        },
    ]
    path.write_text(yaml.safe_dump_all(documents))
    made = utils.create_from_yaml(api, str(path), namespace=namespace)
    assert len(made) == 3
    assert core.read_namespaced_secret("one", namespace).type == "Opaque"
    with pytest.raises(FailToCreateError) as refused:
        utils.create_from_yaml(api, str(path), namespace=namespace)
    assert [error.status for error in refused.value.api_exceptions] == [409, 409, 409]


def test_the_dynamic_client_finds_and_serves_custom_resources(gadgets: Any, namespace: str) -> None:
    body = {
        "apiVersion": "python.example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "one", "labels": {"app": "demo"}},
        "spec": {"size": 2},
    }
    made = gadgets.create(body=body, namespace=namespace)
    assert made.spec.color == "red"
    assert gadgets.get(name="one", namespace=namespace).metadata.uid == made.metadata.uid
    patched = gadgets.patch(
        body={"spec": {"size": 3}},
        name="one",
        namespace=namespace,
        content_type="application/merge-patch+json",
    )
    assert patched.metadata.generation == 2
    gadgets.status.patch(
        body={"status": {"ready": True}},
        name="one",
        namespace=namespace,
        content_type="application/merge-patch+json",
    )
    listed = gadgets.get(namespace=namespace, label_selector="app=demo")
    assert [(item.spec.size, item.status.ready) for item in listed.items] == [(3, True)]
    with pytest.raises(dynamic_errors.UnprocessibleEntityError):
        gadgets.patch(
            body={"spec": {"size": 0}},
            name="one",
            namespace=namespace,
            content_type="application/merge-patch+json",
        )
    gadgets.delete(name="one", namespace=namespace)
    with pytest.raises(dynamic_errors.NotFoundError):
        gadgets.get(name="one", namespace=namespace)


def test_the_dynamic_client_applies(gadgets: Any, namespace: str) -> None:
    def body(**spec: Any) -> dict[str, Any]:
        return {
            "apiVersion": "python.example.com/v1",
            "kind": "Gadget",
            "metadata": {"name": "one"},
            "spec": spec,
        }

    gadgets.server_side_apply(
        body=body(size=1, color="blue"), namespace=namespace, field_manager="first"
    )
    with pytest.raises(dynamic_errors.ConflictError):
        gadgets.server_side_apply(body=body(size=2), namespace=namespace, field_manager="second")
    forced = gadgets.server_side_apply(
        body=body(size=2), namespace=namespace, field_manager="second", force_conflicts=True
    )
    managers = {entry.manager: entry.operation for entry in forced.metadata.managedFields}
    assert managers == {"first": "Apply", "second": "Apply"}
    left = gadgets.server_side_apply(body=body(), namespace=namespace, field_manager="first")
    assert left.spec.to_dict() == {"size": 2, "color": "red"}


def test_the_dynamic_client_watches_built_in_and_custom_kinds(
    maker: dynamic.DynamicClient, gadgets: Any, namespace: str
) -> None:
    secrets = maker.resources.get(api_version="v1", kind="Secret")
    secrets.create(
        body={"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}},
        namespace=namespace,
    )
    for event in secrets.watch(namespace=namespace, timeout=10):
        assert (event["type"], event["object"].metadata.name) == ("ADDED", "one")
        break
    for size in (1, 2):
        gadgets.server_side_apply(
            body={
                "apiVersion": "python.example.com/v1",
                "kind": "Gadget",
                "metadata": {"name": "one"},
                "spec": {"size": size},
            },
            namespace=namespace,
            field_manager="suite",
        )
    for event in gadgets.watch(namespace=namespace, timeout=10):
        assert event["object"].spec.size == 2
        break


def test_discovery_lists_groups_and_resources(api: client.ApiClient) -> None:
    groups = {group.name for group in client.ApisApi(api).get_api_versions().groups}
    assert {"apps", "batch", "rbac.authorization.k8s.io", "apiextensions.k8s.io"} <= groups
    resources = client.BatchV1Api(api).get_api_resources().resources
    assert {"jobs", "jobs/status", "cronjobs"} <= {resource.name for resource in resources}
    assert client.VersionApi(api).get_code().git_version.startswith("v1.34")


def test_a_service_account_gets_in_with_its_token_and_sees_what_it_may(
    core: client.CoreV1Api, api: client.ApiClient, ours: Server, namespace: str
) -> None:
    core.create_namespaced_service_account(namespace, {"metadata": {"name": "robot"}})
    client.RbacAuthorizationV1Api(api).create_namespaced_role_binding(
        namespace,
        {
            "metadata": {"name": "robots"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "view",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": namespace}],
        },
    )
    token = core.create_namespaced_service_account_token(
        "robot", namespace, client.AuthenticationV1TokenRequest(spec={"audiences": None})
    ).status.token
    with client.ApiClient(access(ours, token)) as robot:
        mine = client.CoreV1Api(robot)
        assert mine.list_namespaced_config_map(namespace).items
        with pytest.raises(ApiException) as refused:
            mine.list_namespaced_secret(namespace)
        assert refused.value.status == 403
        review = client.AuthenticationV1Api(robot).create_self_subject_review({})
        assert review.status.user_info.username == f"system:serviceaccount:{namespace}:robot"


def test_a_token_that_nobody_issued_is_turned_away(ours: Server, namespace: str) -> None:
    with client.ApiClient(access(ours, "nonsense")) as stranger:
        with pytest.raises(ApiException) as refused:
            client.CoreV1Api(stranger).list_namespaced_pod(namespace)
        assert refused.value.status == 401


def test_a_client_certificate_is_who_it_says(
    kubeconfig: Path, ours: Server, namespace: str
) -> None:
    read = yaml.safe_load(kubeconfig.read_text())
    user = read["users"][0]["user"]
    assert "client-certificate-data" in user, "the kubeconfig comes with a certificate"
    only_certificate = {name: value for name, value in user.items() if name.startswith("client-")}
    read["users"][0]["user"] = only_certificate
    with config.new_client_from_config_dict(read) as certified:
        review = client.AuthenticationV1Api(certified).create_self_subject_review({})
        assert "system:masters" in review.status.user_info.groups


def access(server: Server, token: str) -> client.Configuration:
    made = client.Configuration(host=server.url)
    made.ssl_ca_cert = server.authority
    made.api_key = {"authorization": f"Bearer {token}"}
    return made
