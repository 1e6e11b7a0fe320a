"""ClusterProfile (multicluster.x-k8s.io/v1alpha1): a cluster of an inventory, how to reach it."""

from fleetqueue.api.foreign.core import CONDITIONS
from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.schema import (
    anything,
    base64,
    boolean,
    immutable,
    list_map,
    list_of,
    obj,
    string,
    time,
)
from fleetqueue.api.kinds import Kind

SPEC = obj(
    {
        "displayName": string("A name for people to read."),
        "clusterManager!": obj(
            {"name!": string()},
            "Who keeps the inventory.",
            rules=[immutable("ClusterManager is immutable")],
        ),
    }
)

# The keys of a kubeconfig's cluster, which are not in camel case.
CLUSTER = obj(
    {
        "server!": string("The address of the API server."),
        "tls-server-name": string(),
        "insecure-skip-tls-verify": boolean(),
        "certificate-authority": string("A file with the certificates to trust."),
        "certificate-authority-data": base64("The certificates to trust, in PEM."),
        "proxy-url": string(),
        "disable-compression": boolean(),
        "extensions": list_of(obj({"name!": string(), "extension!": anything()})),
    }
)

PROVIDERS = list_map(
    obj({"name!": string("The kind of credentials it takes."), "cluster": CLUSTER}),
    "name",
    about="Ways to reach the cluster.",
)

PROPERTY = obj(
    {
        "name!": string(min_length=1, max_length=253),
        "value!": string(min_length=1, max_length=1024),
        "lastObservedTime": time(),
    }
)

STATUS = obj(
    {
        "conditions": CONDITIONS,
        "version": obj({"kubernetes": string("The version of the API server.")}),
        "properties": list_map(PROPERTY, "name", about="Facts about the cluster."),
        "accessProviders": PROVIDERS,
        "credentialProviders": PROVIDERS | {"description": "The older name of accessProviders."},
    }
)

CLUSTER_PROFILE = Version(
    kind=Kind(
        "multicluster.x-k8s.io", "v1alpha1", "clusterprofiles", name="ClusterProfile", storage=True
    ),
    about="One cluster of an inventory: what it is like and how to reach it.",
    spec=SPEC,
    spec_is_required=True,
    status=STATUS,
)
