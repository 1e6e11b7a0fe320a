"""What a TrainJob makes: its JobSet, the snapshot of its runtime, and what MPI needs besides."""

from functools import lru_cache
from itertools import chain

from fleetqueue.api.owners import controller_uid
from fleetqueue.base import documents
from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import CONFIG_MAP, JOB_SET, SECRET
from fleetqueue.runtime.operators import ssh_keys, torchtune
from fleetqueue.runtime.operators.train_job_blueprint import (
    Blueprint,
    PodSet,
    blueprint,
    launcher_works,
    put,
)
from fleetqueue.runtime.operators.train_job_policies import enforce, hostfile
from fleetqueue.runtime.operators.training_runtimes import DATASET, MODEL, NODE, TRAINER

SNAPSHOT_SUFFIX = "-runtime-snapshot"
_KEY = "runtime"


class BadSnapshot(ValueError):
    """The ConfigMap that should hold the runtime as it was does not."""


def make_blueprint(train_job: Object, runtime: Object) -> Blueprint:
    """With all that the policy and the job itself write into it."""
    made = blueprint(train_job, runtime)
    enforce(made)
    for pods in made.pod_sets:
        if pods.step:
            pods.job["replicas"] = 1
        match pods.step:
            case "dataset-initializer":
                _fetch(pods, DATASET, (_initializer(train_job)).get("dataset"))
            case "model-initializer":
                _fetch(pods, MODEL, (_initializer(train_job)).get("model"))
            case _:
                _train(made, pods)
    return made


def make_job_set(made: Blueprint) -> Object:
    spec = {**made.spec, "suspend": bool(made.train_job["spec"].get("suspend"))}
    return child(JOB_SET, made.train_job, {"name": made.name, **made.metadata}, spec=spec)


def limit_devices(made: Blueprint) -> None:
    """Devices of which a job says how many it requests are its limit too: no pod may have more or
    fewer, and the server takes none that leaves it open. Only for what is made; what the job asks
    of a queue is as people wrote it.
    """
    for pods in made.pod_sets:
        listed = (pods.pod.get(key) or () for key in ("containers", "initContainers"))
        for container in chain.from_iterable(listed):
            resources = container.get("resources") or {}
            requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
            given = {name: requests[name] for name in requests if _is_device(name)}
            if given.keys() - limits.keys():
                container["resources"] = {**resources, "limits": {**given, **limits}}


def _is_device(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name


def make_secret(made: Blueprint) -> Object:
    """Without keys, which it gets when it is made."""
    metadata = {"name": f"{made.name}-mpi-ssh-auth"}
    return child(SECRET, made.train_job, metadata, type=ssh_keys.SSH_AUTH, immutable=True)


def make_hostfile(made: Blueprint) -> Object:
    metadata = {"name": f"{made.name}-mpi-hostfile"}
    return child(CONFIG_MAP, made.train_job, metadata, data={"hostfile": hostfile(made)})


def make_snapshot(train_job: Object, runtime: Object) -> Object:
    metadata = {"name": f"{train_job['metadata']['name']}{SNAPSHOT_SUFFIX}"}
    told = {key: value for key, value in runtime["metadata"].items() if key != "managedFields"}
    text = documents.dump({**runtime, "metadata": told})
    return child(CONFIG_MAP, train_job, metadata, data={_KEY: text})


def read_snapshot(train_job: Object, snapshot: Object) -> Object:
    """The runtime in it, if it is this job's and of the runtime that the job names."""
    invalid = "invalid runtime snapshot"
    if controller_uid(snapshot) != train_job["metadata"]["uid"]:
        owned = "a snapshot configmap exists but is owned by another object"
        raise BadSnapshot(f"{invalid}: {owned}")
    text = (snapshot.get("data") or {}).get(_KEY)
    if text is None:
        raise BadSnapshot(f'{invalid}: snapshot ConfigMap missing "{_KEY}" data key')
    try:
        runtime = _parsed(text)
    except documents.DocumentError as error:
        raise BadSnapshot(f"{invalid}: unable to unmarshal the snapshot: {error}") from None
    _compare(train_job["spec"]["runtimeRef"], runtime, invalid)
    return runtime


def _compare(reference: Object, runtime: Object, invalid: str) -> None:
    wanted = (reference["name"], reference["apiGroup"], reference["kind"])
    group = str(runtime.get("apiVersion") or "").rpartition("/")[0]
    name = (runtime.get("metadata") or {}).get("name") or ""
    found = (name, group, runtime.get("kind") or "")
    if wanted == found:
        return
    of = "runtime with name, api group and kind of"
    expected, actual = (", ".join(f'"{part}"' for part in each) for each in (wanted, found))
    why = f"expecting a {of} {expected} but found {of} {actual}"
    raise BadSnapshot(f"{invalid}: the snapshot refers to the wrong runtime: {why}")


@lru_cache(256)
def _parsed(text: str) -> Object:
    """Kept, since every look at a job reads the same text again. Never changed by who gets it."""
    loaded = documents.load(text)
    if not isinstance(loaded, dict):
        raise documents.DocumentError("the document is no object")
    return loaded


def _initializer(train_job: Object) -> Object:
    return train_job["spec"].get("initializer") or {}


def _fetch(pods: PodSet, name: str, said: Object | None) -> None:
    container = pods.container(name)
    if said is None or container is None:
        return
    variables = list(said.get("env") or ())
    if said.get("storageUri") is not None:
        variables = put([{"name": "STORAGE_URI", "value": said["storageUri"]}], variables)
    container["env"] = put(container.get("env") or [], variables)
    if said.get("secretRef") is not None:
        source = {"secretRef": {"name": said["secretRef"].get("name")}}
        container["envFrom"] = [*(container.get("envFrom") or ()), source]


def _train(made: Blueprint, pods: PodSet) -> None:
    said, container = made.trainer, pods.container(NODE)
    if said is None or container is None:
        return
    if pods.step == TRAINER:
        parts = ("image", "command", "args")
        given: Object = {part: said[part] for part in parts if part in said}
        if made.policy.get("torch") is not None and said.get("command") == torchtune.COMMAND:
            given["command"] = torchtune.command(made)
        container.update(given)
    if pods.step == TRAINER or (launcher_works(made.policy) and pods.name == NODE):
        container["env"] = put(container.get("env") or [], said.get("env") or [])
        if not container["env"]:
            del container["env"]
