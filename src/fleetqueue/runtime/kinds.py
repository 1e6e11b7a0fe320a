"""The resources that the controllers of a cluster read and write, by the names of their API."""

from fleetqueue.kube.resources import Resource

POD = Resource("", "v1", "pods", "Pod")
NODE = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICE = Resource("", "v1", "services", "Service")
CONFIG_MAP = Resource("", "v1", "configmaps", "ConfigMap")
SECRET = Resource("", "v1", "secrets", "Secret")
SERVICE_ACCOUNT = Resource("", "v1", "serviceaccounts", "ServiceAccount")
CLAIM = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUME = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
ENDPOINTS = Resource("", "v1", "endpoints", "Endpoints")
ENDPOINT_SLICE = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
LEASE = Resource("coordination.k8s.io", "v1", "leases", "Lease")
PRIORITY_CLASS = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
)
DISRUPTION_BUDGET = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
JOB = Resource("batch", "v1", "jobs", "Job")
CRON_JOB = Resource("batch", "v1", "cronjobs", "CronJob")
REPLICA_SET = Resource("apps", "v1", "replicasets", "ReplicaSet")
DEPLOYMENT = Resource("apps", "v1", "deployments", "Deployment")
STATEFUL_SET = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SET = Resource("apps", "v1", "daemonsets", "DaemonSet")
CONTROLLER_REVISION = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
JOB_SET = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
PYTORCH_JOB = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
TF_JOB = Resource("kubeflow.org", "v1", "tfjobs", "TFJob")
XGBOOST_JOB = Resource("kubeflow.org", "v1", "xgboostjobs", "XGBoostJob")
PADDLE_JOB = Resource("kubeflow.org", "v1", "paddlejobs", "PaddleJob")
JAX_JOB = Resource("kubeflow.org", "v1", "jaxjobs", "JAXJob")
MPI_JOB = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
TRAIN_JOB = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
TRAINING_RUNTIME = Resource(
    "trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime"
)
CLUSTER_TRAINING_RUNTIME = Resource(
    "trainer.kubeflow.org",
    "v1alpha1",
    "clustertrainingruntimes",
    "ClusterTrainingRuntime",
    namespaced=False,
)
RAY_CLUSTER = Resource("ray.io", "v1", "rayclusters", "RayCluster")
RAY_JOB = Resource("ray.io", "v1", "rayjobs", "RayJob")
RAY_SERVICE = Resource("ray.io", "v1", "rayservices", "RayService")
APP_WRAPPER = Resource("workload.codeflare.dev", "v1beta2", "appwrappers", "AppWrapper")
LEADER_WORKER_SET = Resource(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)
