"""What a pod has when its author wrote next to nothing."""

from typing import Any

import pytest

from fleetqueue.apiserver.builtin.pod_defaults import (
    default_container,
    default_pod,
    default_template,
    default_volume,
)

Object = dict[str, Any]


def test_a_pod_of_one_line_becomes_whole() -> None:
    pod: Object = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    default_pod(pod)
    assert pod["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def test_requests_follow_limits_in_a_pod_but_not_in_a_template() -> None:
    container: Object = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}
    pod: Object = {"spec": {"containers": [{**container, "resources": {"limits": {"cpu": "2"}}}]}}
    owner: Object = {"template": {"spec": {"containers": [container]}}}
    default_pod(pod)
    default_template(owner)
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}
    assert "requests" not in owner["template"]["spec"]["containers"][0]["resources"]
    assert "enableServiceLinks" not in owner["template"]["spec"]


def test_a_missing_template_is_made() -> None:
    owner: Object = {}
    default_template(owner)
    assert owner["template"]["spec"]["restartPolicy"] == "Always"


def test_ports_on_the_host_network_are_host_ports() -> None:
    pod: Object = {
        "spec": {
            "hostNetwork": True,
            "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}],
        }
    }
    default_pod(pod)
    assert pod["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
    ]


def test_the_old_name_of_the_service_account_still_counts() -> None:
    pod: Object = {"spec": {"serviceAccount": "robot"}}
    default_pod(pod)
    assert pod["spec"]["serviceAccountName"] == "robot"


def test_a_negative_grace_period_of_a_pod_is_one_second() -> None:
    pod: Object = {"spec": {"terminationGracePeriodSeconds": -5}}
    default_pod(pod)
    assert pod["spec"]["terminationGracePeriodSeconds"] == 1


def test_amounts_finer_than_a_thousandth_are_rounded_up() -> None:
    container: Object = {"resources": {"requests": {"cpu": "100u", "memory": "1Gi"}}}
    default_container(container)
    assert container["resources"]["requests"] == {"cpu": "1m", "memory": "1Gi"}


def test_pod_level_requests_come_from_the_containers_then_from_the_limits() -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    limits = {"cpu": "2", "memory": "1Gi"}
    pod: Object = {"spec": {"containers": [container], "resources": {"limits": limits}}}
    default_pod(pod)
    assert pod["spec"]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_probes_and_hooks_get_their_numbers() -> None:
    container: Object = {
        "livenessProbe": {"httpGet": {"port": 80}},
        "readinessProbe": {"grpc": {"port": 1}, "timeoutSeconds": 7},
        "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
    }
    default_container(container)
    counts = {"periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    request = {"port": 80, "path": "/", "scheme": "HTTP"}
    assert container["livenessProbe"] == {"httpGet": request, "timeoutSeconds": 1, **counts}
    grpc = {"port": 1, "service": ""}
    assert container["readinessProbe"] == {"grpc": grpc, "timeoutSeconds": 7, **counts}
    assert container["lifecycle"]["preStop"]["httpGet"] == request


VOLUMES: dict[str, tuple[Object, Object]] = {
    "no source": ({}, {"emptyDir": {}}),
    "host path": ({"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}),
    "secret": ({"secret": {}}, {"secret": {"defaultMode": 420}}),
    "own mode": ({"configMap": {"defaultMode": 0}}, {"configMap": {"defaultMode": 0}}),
    "token": (
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {
            "projected": {
                "defaultMode": 420,
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
            }
        },
    ),
    "own fields": (
        {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "x"}}]}},
        {
            "downwardAPI": {
                "defaultMode": 420,
                "items": [{"path": "a", "fieldRef": {"fieldPath": "x", "apiVersion": "v1"}}],
            }
        },
    ),
    "claim to be made": (
        {"ephemeral": {"volumeClaimTemplate": {}}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}},
    ),
    "block storage": (
        {"rbd": {"pool": "mine"}},
        {"rbd": {"pool": "mine", "user": "admin", "keyring": "/etc/ceph/keyring"}},
    ),
}


@pytest.mark.parametrize(("given", "whole"), VOLUMES.values(), ids=VOLUMES.keys())
def test_volumes_get_their_details(given: Object, whole: Object) -> None:
    default_volume(given)
    assert given == whole
