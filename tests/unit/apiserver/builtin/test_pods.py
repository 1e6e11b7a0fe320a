"""Pods on their way in: what is refused, and what the server adds."""

from collections.abc import Callable
from typing import Any

import pytest

from fleetqueue.apiserver.builtin import strategies
from fleetqueue.apiserver.builtin.pods import grace_seconds

Object = dict[str, Any]
Make = Callable[..., Object]

POD = strategies()["", "Pod"]
C: Object = {"name": "c", "image": "i"}
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
ZONE = "failure-domain.beta.kubernetes.io/zone"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def with_container(**fields: Any) -> Object:
    return {"containers": [C | fields]}


def with_volumes(*volumes: Object) -> Object:
    return {"volumes": list(volumes)}


REFUSED: dict[str, tuple[Object, list[str]]] = {
    "no containers": ({"containers": []}, ["spec.containers: Required value"]),
    "two containers of one name": (
        {"containers": [C, C]},
        ['spec.containers[1].name: Duplicate value: "c"'],
    ),
    "a container name with a capital": (
        with_container(name="C"),
        [f'spec.containers[0].name: Invalid value: "C": {LABEL}'],
    ),
    "no image": (with_container(image=""), ["spec.containers[0].image: Required value"]),
    "an image with a blank at its end": (
        with_container(image="i "),
        [
            'spec.containers[0].image: Invalid value: "i ": '
            "must not have leading or trailing whitespace"
        ],
    ),
    "an unknown pull policy": (
        with_container(imagePullPolicy="Often"),
        [
            'spec.containers[0].imagePullPolicy: Unsupported value: "Often": '
            'supported values: "Always", "IfNotPresent", "Never"'
        ],
    ),
    "more requested than allowed": (
        with_container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        [
            'spec.containers[0].resources.requests: Invalid value: "2": '
            "must be less than or equal to cpu limit of 1"
        ],
    ),
    "half a gpu": (
        with_container(resources={"limits": {"nvidia.com/gpu": "500m"}}),
        [
            "spec.containers[0].resources.limits[nvidia.com/gpu]: "
            'Invalid value: "500m": must be an integer',
            "spec.containers[0].resources.requests[nvidia.com/gpu]: "
            'Invalid value: "500m": must be an integer',
        ],
    ),
    "a resource without a domain": (
        with_container(resources={"requests": {"gpu": "1"}}),
        [
            'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": '
            "must be a standard resource type or fully qualified",
            'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": '
            "must be a standard resource for containers",
        ],
    ),
    "huge pages alone": (
        with_container(resources={"limits": {"hugepages-2Mi": "3Mi"}}),
        [
            'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": '
            "3Mi is not positive integer multiple of hugepages-2Mi",
            'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": '
            "3Mi is not positive integer multiple of hugepages-2Mi",
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
        ],
    ),
    "a claim that the pod does not have": (
        with_container(resources={"claims": [{"name": "x"}]}),
        [
            'spec.containers[0].resources.claims[0]: Not found: "x": '
            "must be one of the names in pod.spec.resourceClaims which is empty"
        ],
    ),
    "a container above the pod's own limit": (
        {
            "resources": {"limits": {"cpu": "2"}},
            **with_container(resources={"limits": {"cpu": "3"}, "requests": {"cpu": "1"}}),
        },
        [
            'spec.resources.containers[0][cpu].limits: Invalid value: "3": '
            "must be less than or equal to pod limits of 2"
        ],
    ),
    "a port without a number": (
        with_container(ports=[{"name": "web"}]),
        ["spec.containers[0].ports[0].containerPort: Required value"],
    ),
    "one host port twice": (
        with_container(
            ports=[{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]
        ),
        ['spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//9"'],
    ),
    "a variable from nowhere": (
        with_container(env=[{"name": "A", "valueFrom": {}}]),
        [
            'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: '
            "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        ],
    ),
    "a variable from a field that pods do not show": (
        with_container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]),
        [
            'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": '
            "error converting fieldPath: field label not supported: spec.x"
        ],
    ),
    "a divisor that is no unit": (
        with_container(
            env=[
                {
                    "name": "A",
                    "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}},
                }
            ]
        ),
        [
            "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "
            '"limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource'
        ],
    ),
    "an import of nothing": (
        with_container(envFrom=[{}]),
        [
            'spec.containers[0].envFrom: Invalid value: "": '
            "must specify one of: `configMapRef` or `secretRef`"
        ],
    ),
    "a probe with two handlers": (
        with_container(livenessProbe={"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}}),
        [
            "spec.containers[0].livenessProbe.tcpSocket: Forbidden: "
            "may not specify more than 1 handler type"
        ],
    ),
    "a liveness probe that must succeed twice": (
        with_container(livenessProbe={"exec": {"command": ["x"]}, "successThreshold": 2}),
        ["spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"],
    ),
    "a hook that sleeps too long": (
        with_container(lifecycle={"preStop": {"sleep": {"seconds": 31}}}),
        [
            "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: "
            "must be non-negative and less than terminationGracePeriodSeconds (30)"
        ],
    ),
    "a probe of a plain init container": (
        {"initContainers": [{**C, "name": "x", "readinessProbe": {"tcpSocket": {"port": 1}}}]},
        [
            "spec.initContainers[0].readinessProbe: Forbidden: "
            "may not be set for init containers without restartPolicy=Always"
        ],
    ),
    "an ephemeral container from the start": (
        {"ephemeralContainers": [{"name": "e", "image": "i"}]},
        ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
    ),
    "a mount of no volume": (
        with_container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
        ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ),
    "a volume of two kinds": (
        with_volumes({"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}),
        ["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
    ),
    "a host path that climbs": (
        with_volumes({"name": "v", "hostPath": {"path": "/a/../b"}}),
        ["spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"],
    ),
    "a mode beyond octal 777": (
        with_volumes({"name": "v", "secret": {"secretName": "s", "defaultMode": 512}}),
        [
            "spec.volumes[0].secret.defaultMode: Invalid value: 512: "
            "must be a number between 0 and 0777 (octal), both inclusive"
        ],
    ),
    "a token without a service account": (
        with_volumes(
            {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
        ),
        [
            "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: "
            "must not be specified when serviceAccountName is not set"
        ],
    ),
    "a claim without access modes": (
        with_volumes(
            {
                "name": "v",
                "ephemeral": {
                    "volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1"}}}}
                },
            }
        ),
        [
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: "
            "at least 1 access mode is required"
        ],
    ),
    "an nfs path that is relative": (
        with_volumes({"name": "v", "nfs": {"server": "s", "path": "x"}}),
        ['spec.volumes[0].nfs.path: Invalid value: "x": must be an absolute path'],
    ),
    "an unknown restart policy": (
        {"restartPolicy": "Sometimes"},
        [
            'spec.restartPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "OnFailure", "Never"'
        ],
    ),
    "a deadline of zero": (
        {"activeDeadlineSeconds": 0},
        [
            "spec.activeDeadlineSeconds: Invalid value: 0: "
            "must be between 1 and 2147483647, inclusive"
        ],
    ),
    "own name servers, and none named": (
        {"dnsPolicy": "None"},
        ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    ),
    "a toleration of everything by value": (
        {"tolerations": [{"operator": "Equal"}]},
        [
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when '
            '`key` is empty, which means "match all values and all keys"'
        ],
    ),
    "a gate named twice": (
        {"schedulingGates": [{"name": "g"}, {"name": "g"}]},
        ['spec.schedulingGates[1]: Duplicate value: "g"'],
    ),
    "a gated pod with a node": (
        {"schedulingGates": [{"name": "g"}], "nodeName": "n"},
        ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    ),
    "node affinity without terms": (
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
        [
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: Required value: "
            "must have at least one node selector term"
        ],
    ),
    "a weight of zero": (
        {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}}},
        [
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight: Invalid value: 0: "
            "must be in the range 1-100"
        ],
    ),
    "the same spread twice": (
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
            ]
            * 2
        },
        [
            "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: "
            'Duplicate value: "{z, DoNotSchedule}"'
        ],
    ),
    "an impossible user": (
        {"securityContext": {"runAsUser": -1}},
        [
            "spec.securityContext.runAsUser: Invalid value: -1: "
            "must be between 0 and 2147483647, inclusive"
        ],
    ),
    "privileged, yet without escalation": (
        with_container(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
        [
            "spec.containers[0].securityContext: Invalid value: "
            '{"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,'
            '"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,'
            '"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,'
            '"AppArmorProfile":null}: '
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        ],
    ),
    "a setting of the host's network": (
        {"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.a", "value": "1"}]}},
        [
            'spec.securityContext.sysctls[0].name: Invalid value: "net.a": '
            "may not be specified when 'hostNetwork' is true"
        ],
    ),
    "users of its own on the host's network": (
        {"hostUsers": False, "hostNetwork": True},
        ["spec.hostNetwork: Forbidden: when `hostUsers` is false"],
    ),
    "a Windows pod with a Linux user": (
        {"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}},
        ["spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod"],
    ),
    "a claim of two sources": (
        {
            "resourceClaims": [
                {"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}
            ]
        },
        [
            'spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":"x",'
            '"ResourceClaimTemplateName":"y"}: '
            "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        ],
    ),
}


@pytest.mark.parametrize(("given", "errors"), REFUSED.values(), ids=REFUSED.keys())
def test_a_pod_is_refused(stored: Make, given: Object, errors: list[str]) -> None:
    pod = stored("", "Pod", {"containers": [C]} | given)
    assert [str(error) for error in POD.validate_create(pod)] == errors


ACCEPTED: dict[str, Object] = {
    "one container": {},
    "a sidecar with a probe": {
        "initContainers": [
            {**C, "name": "s", "restartPolicy": "Always", "livenessProbe": {"grpc": {"port": 1}}}
        ]
    },
    "a label as variable": with_container(
        env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}]
    ),
    "a search path with an underscore": {"dnsConfig": {"searches": ["_a.b", "."]}},
    "a gpu": with_container(resources={"limits": {"nvidia.com/gpu": "8"}}),
}


@pytest.mark.parametrize("given", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_pod_is_accepted(stored: Make, given: Object) -> None:
    assert POD.validate_create(stored("", "Pod", {"containers": [C]} | given)) == []


def test_a_new_pod_is_pending_whatever_it_claims(stored: Make) -> None:
    pod = stored("", "Pod", {"containers": [C]})
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_gated_pod_says_why_it_waits(stored: Make) -> None:
    pod = stored("", "Pod", {"containers": [C], "schedulingGates": [{"name": "g"}]})
    assert pod["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-02T03:04:05Z",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
    ]


def test_keys_to_match_become_expressions_on_the_pods_labels(stored: Make) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "z",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "matchLabelKeys": ["version", "absent"],
    }
    spec = {"containers": [C], "topologySpreadConstraints": [spread]}
    pod = stored("", "Pod", spec, labels={"version": "2"})
    selector = pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert selector["matchExpressions"] == [{"key": "version", "operator": "In", "values": ["2"]}]


def test_fields_of_disabled_features_are_dropped(stored: Make) -> None:
    pod = stored(
        "",
        "Pod",
        {
            "hostnameOverride": "x",
            "volumes": [{"name": "img", "image": {"reference": "i"}}],
            "containers": [
                C
                | {
                    "restartPolicy": "Never",
                    "lifecycle": {"stopSignal": "SIGTERM"},
                    "volumeMounts": [{"name": "img", "mountPath": "/i"}],
                }
            ],
        },
    )
    assert not {"hostnameOverride", "volumes"} & pod["spec"].keys()
    dropped = {"restartPolicy", "lifecycle", "volumeMounts"}
    assert not dropped & pod["spec"]["containers"][0].keys()


GRACE = {
    "as the pod says": ("n", "Running", None, 30),
    "as the client asks": ("n", "Running", 5, 5),
    "nowhere to run": ("", "Pending", 60, 0),
    "over already": ("n", "Succeeded", 60, 0),
    "a negative wish": ("n", "Running", -3, 1),
}


@pytest.mark.parametrize(("node", "phase", "asked", "seconds"), GRACE.values(), ids=GRACE.keys())
def test_grace_on_deletion(node: str, phase: str, asked: int | None, seconds: int) -> None:
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 30}
    assert grace_seconds({"spec": spec, "status": {"phase": phase}}, asked) == seconds


def test_field_selectors_see_the_pod(stored: Make) -> None:
    pod = stored("", "Pod", {"containers": [C], "nodeName": "n", "hostNetwork": True})
    pod["status"]["podIPs"] = [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]
    assert {name: read(pod) for name, read in POD.fields.items()} == {
        "spec.nodeName": "n",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "true",
        "status.phase": "Pending",
        "status.podIP": "10.0.0.1",
        "status.nominatedNodeName": "",
    }


WARNED: dict[str, tuple[Object, list[str]]] = {
    "nothing to say": ({}, []),
    "an old node label": (
        {"nodeSelector": {ZONE: "a"}},
        [
            f"spec.nodeSelector[{ZONE}]: "
            'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
        ],
    ),
    "a variable that hides another": (
        with_container(
            env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "B"}]
        ),
        [
            'spec.containers[0].env[1]: hides previous definition of "A", '
            "which may be dropped when using apply"
        ],
    ),
    "a variable that extends another": (
        with_container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "$(A),2"}]),
        [],
    ),
    "a fraction of a byte": (
        with_container(resources={"requests": {"memory": "100m"}}),
        [
            "spec.containers[0].resources.requests[memory]: "
            'fractional byte value "100m" is invalid, must be an integer'
        ],
    ),
    "an address without a port": (
        with_container(ports=[{"containerPort": 90, "hostIP": "1.2.3.4"}]),
        [
            "spec.containers[0].ports[0]: hostIP set without hostPort: "
            "{Name: HostPort:0 ContainerPort:90 Protocol:TCP HostIP:1.2.3.4}"
        ],
    ),
    "a port defined twice": (
        {"containers": [C | {"ports": [{"containerPort": 1}] * 2}]},
        ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
    ),
    "a volume kind of old": (
        with_volumes({"name": "v", "gitRepo": {"repository": "r"}}),
        ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
    ),
    "files over files": (
        with_volumes(
            {
                "name": "v",
                "configMap": {
                    "name": "m",
                    "items": [{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}],
                },
            }
        ),
        ['volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"'],
    ),
    "a spread over nothing": (
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
            ]
        },
        [
            "spec.topologySpreadConstraints[0].labelSelector: "
            "a null labelSelector results in matching no pod"
        ],
    ),
    "an address in an odd spelling": (
        {"hostAliases": [{"ip": "010.0.0.1"}]},
        [
            'spec.hostAliases[0].ip: non-standard IP address "010.0.0.1" will be considered '
            'invalid in a future Kubernetes release: use "10.0.0.1"'
        ],
    ),
}


@pytest.mark.parametrize(("given", "warnings"), WARNED.values(), ids=WARNED.keys())
def test_a_pod_is_warned_of(stored: Make, given: Object, warnings: list[str]) -> None:
    pod = stored("", "Pod", {"containers": [C]} | given)
    assert POD.warnings(pod, None) == warnings
    assert POD.warnings(pod, pod) == []


def test_a_name_with_dots_makes_an_odd_hostname(stored: Make) -> None:
    pod = stored("", "Pod", {"containers": [C]}, name="a.b")
    assert POD.warnings(pod, None) == [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising "
        "behavior; a DNS label is recommended: [must not contain dots]"
    ]
