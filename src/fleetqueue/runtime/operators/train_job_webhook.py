"""What a TrainJob and its runtimes are given when they are written, and what is refused."""

import re
from collections.abc import Iterator

from fleetqueue.api import field_errors as fields
from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError
from fleetqueue.api.times import format_time
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked, Webhook
from fleetqueue.runtime.kinds import (
    CLUSTER_TRAINING_RUNTIME,
    JOB_SET,
    TRAIN_JOB,
    TRAINING_RUNTIME,
)
from fleetqueue.runtime.operators import torchtune
from fleetqueue.runtime.operators import train_job_patches as patching
from fleetqueue.runtime.operators.train_job_blueprint import Blueprint, blueprint, launcher_works
from fleetqueue.runtime.operators.train_job_policies import (
    MPI_VARIABLES,
    TORCH_VARIABLES,
    XGBOOST_VARIABLES,
)
from fleetqueue.runtime.operators.training_runtimes import (
    DATASET,
    LAUNCHER,
    MODEL,
    NODE,
    STEP_KEY,
    TRAINER,
)

SUPPORT_KEY = "trainer.kubeflow.org/support"
POLICY_URL = (
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy"
)
_GROUP = TRAIN_JOB.group
_PATCHES = "spec.runtimePatches"
_CONTAINER_OF_STEP = {TRAINER: NODE, MODEL: MODEL, DATASET: DATASET}
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def default(asked: Asked) -> None:
    """Patches that are new or changed are stamped."""
    before = {patch["manager"]: patch for patch in patching.patches_of(asked.old or {})}
    for patch in patching.patches_of(asked.obj):
        old = before.get(patch.get("manager"))
        if old is None or _without_time(old) != _without_time(patch):
            patch["time"] = format_time(asked.now)
        elif old.get("time") is not None:
            patch["time"] = old["time"]


def validate(asked: Asked) -> list[FieldError]:
    runtime, errors = _find_runtime(asked)
    if runtime is None:
        # A job that was made from it is stopped, and let go, without its runtime too.
        return errors if asked.is_new else []
    made = blueprint(asked.obj, runtime)
    bare = blueprint({**asked.obj, "spec": {**asked.spec, "runtimePatches": []}}, runtime)
    errors += _check_initializers(made)
    errors += _check_change_of_patches(asked)
    errors += _check_patches(patching.patches_of(asked.obj), bare)
    errors += _check_policy(made)
    return errors


def validate_runtime(asked: Asked) -> list[FieldError]:
    """Steps that the operator fills in are one job each, with the container it looks for."""
    labels = asked.obj["metadata"].get("labels") or {}
    is_cluster_wide = asked.obj["kind"] == CLUSTER_TRAINING_RUNTIME.kind
    if is_cluster_wide and asked.is_new and labels.get(SUPPORT_KEY) == "deprecated":
        asked.warnings.append(_deprecated(f'ClusterTrainingRuntime "{_name(asked.obj)}"'))
    if not is_cluster_wide and not asked.is_new:
        return []
    template = asked.spec.get("template") or {}
    jobs = (template.get("spec") or {}).get("replicatedJobs") or []
    path = "spec.template.spec.replicatedJobs"
    return [
        error for index, job in enumerate(jobs) for error in _check_step(job, f"{path}[{index}]")
    ]


def _find_runtime(asked: Asked) -> tuple[Object | None, list[FieldError]]:
    said = asked.spec["runtimeRef"]
    reference = {part: said[part] for part in ("name", "apiGroup", "kind") if part in said}
    kind, group = said.get("kind") or "", said.get("apiGroup") or ""
    known = {each.kind: each for each in (CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME)}
    if kind not in known or group != _GROUP:
        why = f"unsupported runtime: {kind}.{group}"
        return None, [fields.wrong("spec.runtimeRef", reference, why)]
    is_cluster_wide = kind == CLUSTER_TRAINING_RUNTIME.kind
    home = "" if is_cluster_wide else str(asked.obj["metadata"].get("namespace") or "")
    runtime = asked.source.get(known[kind], home, said["name"])
    if runtime is None:
        missing = f'{kind}.{group} "{said["name"]}" not found'
        path = "spec.RuntimeRef" if is_cluster_wide else "spec.runtimeRef"
        what = f"{kind[0].lower()}{kind[1:]}"
        why = f"{missing}: specified {what} must be created before the TrainJob is created"
        return None, [fields.wrong(path, reference, why)]
    labels = runtime["metadata"].get("labels") or {}
    if is_cluster_wide and labels.get(SUPPORT_KEY) == "deprecated":
        asked.warnings.append(_deprecated(f'Referenced ClusterTrainingRuntime "{said["name"]}"'))
    return runtime, []


def _check_initializers(made: Blueprint) -> Iterator[FieldError]:
    said = made.train_job["spec"].get("initializer") or {}
    for part, name in (("dataset", DATASET), ("model", MODEL)):
        why = _missing_for(made, name, part) if said.get(part) is not None else ""
        if why:
            yield fields.wrong("spec.runtimeRef", made.train_job["spec"]["runtimeRef"], why)


def _missing_for(made: Blueprint, name: str, part: str) -> str:
    pods = made.called(name)
    if pods is None:
        return f"must have {name} job when trainJob is configured with input {part}Config"
    container = pods.container(name)
    if container is None:
        return f"must have container with name - {name} in the {name} job"
    mounts = [mount["name"] for mount in container.get("volumeMounts") or ()]
    if "initializer" in mounts:
        return ""
    where = f"in container {name} of the {name} job"
    return f"must have volumeMount with name - initializer {where}"


def _check_change_of_patches(asked: Asked) -> Iterator[FieldError]:
    """Only what is or gets suspended may be patched, once nothing of it runs any more."""
    old = asked.old
    if old is None or patching.patches_of(old) == patching.patches_of(asked.obj):
        return
    if not old["spec"].get("suspend") and not asked.spec.get("suspend"):
        rule = "can only be modified when the TrainJob is suspended before or after the update"
        yield fields.forbidden(_PATCHES, f"RuntimePatches {rule}")
        return
    metadata = asked.obj["metadata"]
    job_set = asked.source.get(JOB_SET, metadata.get("namespace") or "", metadata["name"]) or {}
    for counted in (job_set.get("status") or {}).get("replicatedJobsStatus") or ():
        if counted.get("active"):
            when = f"when the JobSet's ReplicatedJob {counted['name']} is still active"
            yield fields.forbidden(_PATCHES, f"RuntimePatches cannot be modified {when}")


def _check_patches(patches: list[Object], bare: Blueprint) -> Iterator[FieldError]:
    """Against the runtime as it is without them."""
    for patch in patches:
        yield from domain_prefixed_path(f"{_PATCHES}.manager", patch["manager"])
        for job in patching.job_patches(patch):
            for why in _wrong_with(job, bare):
                yield fields.wrong(_PATCHES, patches, why)


def _wrong_with(patch: Object, bare: Blueprint) -> Iterator[str]:
    pods = bare.called(patch["name"])
    if pods is None:
        yield "must not have replicated job that doesn't exist in the runtime job template"
        return
    template = ((patch.get("template") or {}).get("spec") or {}).get("template") or {}
    spec = template.get("spec") or {}
    for part, word in (("initContainers", "initContainer"), ("containers", "container")):
        for container in spec.get(part) or ():
            is_step = part == "containers" and container["name"] in _CONTAINER_OF_STEP.values()
            if pods.container(container["name"]) is None:
                yield f"must not have {word} that doesn't exist in the runtime job {patch['name']}"
            elif container.get("env") and is_step:
                yield f"must not have envs for the {DATASET}, {MODEL}, {NODE} containers"


def _check_policy(made: Blueprint) -> Iterator[FieldError]:
    variables = (made.trainer or {}).get("env") or []
    named = {variable["name"] for variable in variables}
    if made.policy.get("torch") is not None:
        yield from _check_targets(made)
        yield from _check_reserved(variables, sorted(named.intersection(TORCH_VARIABLES)))
        if (made.trainer or {}).get("command") == torchtune.COMMAND:
            yield from torchtune.check(made)
    if made.policy.get("mpi") is not None:
        nodes = (made.trainer or {}).get("numNodes") or 1
        is_whole = made.called(LAUNCHER) is not None and made.called(NODE) is not None
        if nodes >= 2 and launcher_works(made.policy) and not is_whole:
            why = "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not"
            why = f"{why} have either launcher and node"
            yield fields.wrong("spec.trainer.numNodes", nodes, why)
        yield from _check_reserved(variables, sorted(named.intersection(MPI_VARIABLES)))
    if made.policy.get("xgboost") is not None:
        for index, variable in enumerate(variables):
            if variable["name"] in XGBOOST_VARIABLES:
                why = f"{variable['name']} is reserved for the XGBoost runtime"
                yield fields.forbidden(f"spec.trainer.env[{index}]", why)


def _check_reserved(variables: list[Object], taken: list[str]) -> Iterator[FieldError]:
    if taken:
        why = f"must not have reserved envs, invalid envs configured: [{' '.join(taken)}]"
        yield fields.wrong("spec.trainer.env", variables, why)


def _check_targets(made: Blueprint) -> Iterator[FieldError]:
    injection = made.policy["torch"].get("envInjection") or {}
    for target in injection.get("targets") or ():
        pods = made.called(target["jobName"])
        for name in target.get("containerNames") or ():
            if pods is None or pods.container(name) is None:
                where = f'podSet "{target["jobName"]}" container "{name}"'
                why = f"envInjection target {where} not found in runtime template"
                yield fields.wrong("spec.runtimeRef", target, why)


def _check_step(job: Object, path: str) -> Iterator[FieldError]:
    template = job.get("template") or {}
    step = ((template.get("metadata") or {}).get("labels") or {}).get(STEP_KEY)
    if step not in _CONTAINER_OF_STEP:
        return
    replicas = 1 if job.get("replicas") is None else job["replicas"]
    if replicas != 1:
        yield fields.wrong(f"{path}.replicas", replicas, "always must be 1")
    pod = ((template.get("spec") or {}).get("template") or {}).get("spec") or {}
    containers = pod.get("containers") or []
    if not any(each.get("name") == _CONTAINER_OF_STEP[step] for each in containers):
        why = f"must contain the required container for the ancestor: {step}"
        yield fields.wrong(f"{path}.template.spec.template.spec.containers", containers, why)


def domain_prefixed_path(path: str, value: str) -> Iterator[FieldError]:
    """`acme.io/foo`: a domain and a path below it."""
    host, _, rest = value.partition("/")
    if not value:
        yield fields.required(path)
    elif not host or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield fields.wrong(path, value, why)
    else:
        for text in names.dns1123_subdomain(host):
            yield fields.wrong(path, host, text)
        if not re.fullmatch(_HTTP_PATH, rest, re.ASCII):
            yield fields.wrong(path, rest, names.pattern_message("Invalid path", _HTTP_PATH))


def _deprecated(what: str) -> str:
    fate = "is deprecated and will be removed in a future release of Kubeflow Trainer"
    return f"{what} {fate}. See runtime deprecation policy: {POLICY_URL}"


def _without_time(patch: Object) -> Object:
    return {part: value for part, value in patch.items() if part != "time"}


def _name(obj: Object) -> str:
    return str(obj["metadata"].get("name") or "")


WEBHOOKS = (
    Webhook(
        TRAIN_JOB,
        default=default,
        validate=validate,
        defaults_updates=True,
        name=f"validator.trainjob.{_GROUP}",
    ),
    Webhook(
        TRAINING_RUNTIME,
        validate=validate_runtime,
        name=f"validator.trainingruntime.{_GROUP}",
    ),
    Webhook(
        CLUSTER_TRAINING_RUNTIME,
        validate=validate_runtime,
        name=f"validator.clustertrainingruntime.{_GROUP}",
    ),
)
