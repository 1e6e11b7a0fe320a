"""Fine-tuning with torchtune: the command that a bare `tune run` stands for, and what it cannot do.

The model is read from the name of the runtime: `torchtune-llama3.2-1b` tunes `llama3_2/1B`.
"""

from collections.abc import Iterator

from fleetqueue.api import field_errors as fields
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.train_job_blueprint import (
    PORT,
    Blueprint,
    gpus,
    processes_per_node,
)

COMMAND = ["tune", "run"]
MODELS = ("llama3_2/1B", "llama3_2/3B", "llama3_3/70B", "qwen2_5/1.5B")
MANY_NODES = "llama3_3/70B"
NO_QLORA = "qwen2_5/1.5B"
ONE_DEVICE_QLORA = ("llama3_2/1B", "llama3_2/3B")
FIXED_ARGUMENTS = (
    "output_dir",
    "tokenizer.path",
    "checkpointer.checkpoint_dir",
    "tokenizer.merges_file",
)


def command(made: Blueprint) -> list[str]:
    """The whole command: rendezvous where there is more than one process, recipe, what is fixed."""
    processes = processes_per_node(made)
    devices = gpus(made.resources_per_node) if processes == "auto" else int(processes)
    whole = list(COMMAND)
    if _nodes(made) > 1 or devices > 1:
        whole.append(f"--rdzv_endpoint={made.first_address}:{PORT}")
    recipe, config = _recipe(made, _nodes(made), processes)
    return [*whole, recipe, "--config", config, *_fixed_arguments(made)]


def check(made: Blueprint) -> Iterator[FieldError]:
    """What is wrong with a job whose command is `tune run`."""
    assert made.trainer is not None
    model, nodes = _model(made), made.trainer.get("numNodes") or 1
    name, count = made.train_job["spec"]["runtimeRef"]["name"], "spec.trainer.numNodes"
    if model not in MODELS:
        why = f"must have a supported pretrained model, invalid model configured: {model}"
        yield fields.wrong("spec.runtimeRef.name", name, why)
    if nodes > 1 and model != MANY_NODES:
        yield fields.wrong(count, nodes, f"must be 1 for {model} model")
    said = made.trainer.get("numProcPerNode")
    _, config = _recipe(made, nodes, "auto" if said is None else said)
    if "_qlora" in config:
        yield from _check_qlora(made, model, is_one_device=config.endswith("_single_device"))
    if nodes > 1 and (_uses_lora(made) or _uses_qlora(made)):
        why = "LoRA fine-tuning is not supported for multi-node training in TorchTune"
        yield fields.wrong(count, nodes, why)
    for index, argument in enumerate(made.trainer.get("args") or ()):
        key = argument.partition("=")[0]
        if key in FIXED_ARGUMENTS:
            why = f'must not set immutable config "{key}" in trainer args'
            path = f"spec.trainer.args[{index}]"
            yield fields.wrong(path, argument, f"{why}; it is managed by the runtime")


def _check_qlora(made: Blueprint, model: str, *, is_one_device: bool) -> Iterator[FieldError]:
    assert made.trainer is not None
    if model == NO_QLORA:
        name = made.train_job["spec"]["runtimeRef"]["name"]
        yield fields.wrong(
            "spec.runtimeRef.name", name, f"QLoRA is not supported for {model} model"
        )
    if is_one_device or model not in ONE_DEVICE_QLORA:
        return
    said = made.trainer.get("numProcPerNode")
    why = f"must be auto or 1 for {model} model when using QLoRA"
    yield fields.wrong("spec.trainer.numProcPerNode", "auto" if said is None else said, why)
    why = f"must have gpu resource with value 1 for {model} model when using QLoRA"
    resources = made.trainer.get("resourcesPerNode")
    yield fields.wrong("spec.trainer.resourcesPerNode", resources, why)


def _recipe(made: Blueprint, nodes: int, processes: int | str) -> tuple[str, str]:
    """The recipe and the configuration that fit the number of nodes, devices and arguments."""
    one_process = processes == 1 or gpus(made.resources_per_node) == 1
    place, suffix = ("single_device", "_single_device") if one_process else ("distributed", "")
    if nodes > 1:
        return "full_finetune_distributed", f"{_model(made)}_full_multinode"
    if _uses_qlora(made):
        return f"lora_finetune_{place}", f"{_model(made)}_qlora{suffix}"
    if _uses_lora(made):
        return f"lora_finetune_{place}", f"{_model(made)}_lora{suffix}"
    return f"full_finetune_{place}", f"{_model(made)}_full{suffix}"


def _model(made: Blueprint) -> str:
    parts = str(made.train_job["spec"]["runtimeRef"]["name"]).split("-")
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}" if len(parts) == 3 else ""


def _nodes(made: Blueprint) -> int:
    pods = made.of_step("trainer")
    return pods.count if pods is not None else 1


def _uses_lora(made: Blueprint) -> bool:
    return any("model.lora_attn_modules" in argument for argument in _arguments(made))


def _uses_qlora(made: Blueprint) -> bool:
    return not _is_on(made, "model.use_dora") and _is_on(made, "model.quantize_base")


def _is_on(made: Blueprint, name: str) -> bool:
    pairs = (argument.partition("=") for argument in _arguments(made))
    return any(name in key and value.strip().lower() == "true" for key, _, value in pairs)


def _arguments(made: Blueprint) -> list[str]:
    return list((made.trainer or {}).get("args") or ())


def _fixed_arguments(made: Blueprint) -> list[str]:
    """What the runtime's own command says of places, which no job may change."""
    container: Object = made.trainer_container() or {}
    return [
        word for word in container.get("command") or () if word.partition("=")[0] in FIXED_ARGUMENTS
    ]
