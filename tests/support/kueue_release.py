"""What guides have people install of Kueue, in short: the definitions of an old release for a hub,
and what a newer one runs on a member.
"""

import json
from typing import Any

Object = dict[str, Any]


def definition(kind: str, plural: str, scope: str) -> Object:
    """With the one version that there was then."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {
        "name": "v1beta1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.kueue.x-k8s.io"},
        "spec": {
            "group": "kueue.x-k8s.io",
            "names": names,
            "scope": scope,
            "versions": [version],
        },
    }


DEFINITIONS = "\n---\n".join(
    json.dumps(definition(*each))
    for each in (
        ("ClusterQueue", "clusterqueues", "Cluster"),
        ("LocalQueue", "localqueues", "Namespaced"),
        ("ResourceFlavor", "resourceflavors", "Cluster"),
    )
)
MANIFESTS = """
apiVersion: v1
kind: Namespace
metadata: {name: kueue-system}
---
apiVersion: v1
kind: Service
metadata: {name: kueue-webhook-service, namespace: kueue-system}
spec:
  ports: [{port: 443, targetPort: 9443}]
  selector: {control-plane: controller-manager}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: kueue-controller-manager, namespace: kueue-system}
spec:
  selector: {matchLabels: {control-plane: controller-manager}}
  template:
    metadata: {labels: {control-plane: controller-manager}}
    spec:
      containers:
      - name: manager
        image: registry.example/kueue/kueue:v0.14.4
        command: [/manager]
        args: [--config=/controller_manager_config.yaml]
        readinessProbe: {httpGet: {path: /readyz, port: 8081}}
        livenessProbe: {httpGet: {path: /healthz, port: 8081}}
      - name: kube-rbac-proxy
        image: registry.example/kubebuilder/kube-rbac-proxy:v0.16.0
        args: [--secure-listen-address=0.0.0.0:8443]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: kueue-validating-webhook-configuration}
webhooks:
- name: vjob.kb.io
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig:
    service: {name: kueue-webhook-service, namespace: kueue-system, path: /validate-batch-v1-job}
  rules:
  - apiGroups: [batch]
    apiVersions: [v1]
    operations: [CREATE, UPDATE]
    resources: [jobs]
---
"""
RELEASE = MANIFESTS + DEFINITIONS
