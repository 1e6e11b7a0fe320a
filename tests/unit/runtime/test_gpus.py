"""GPUs: found where the machine tells of them, and never given twice."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fleetqueue.runtime.gpus import Gpu, GpuAllocator, find_gpus, gpu_count, visible_devices

pytestmark = pytest.mark.rule("jobs C.10")

LIST = """\
GPU 0: NVIDIA H200 (UUID: GPU-11111111-2222)
GPU 1: NVIDIA H200 (UUID: GPU-33333333-4444)
  MIG 1g.18gb Device 0: (UUID: MIG-5555)
"""


def missing(command: Sequence[str]) -> str:
    raise FileNotFoundError(command[0])


def test_gpus_are_those_that_the_tool_lists() -> None:
    found = find_gpus(run=lambda command: LIST)
    assert found == (
        Gpu(0, "NVIDIA H200", "GPU-11111111-2222"),
        Gpu(1, "NVIDIA H200", "GPU-33333333-4444"),
    )


def test_without_the_tool_the_driver_tells(tmp_path: Path) -> None:
    for number in (2, 1):
        folder = tmp_path / f"0000:0{number}:00.0"
        folder.mkdir()
        text = f"Model: \t\t NVIDIA H200\nIRQ:   47\nGPU UUID: \t GPU-{number}\n"
        (folder / "information").write_text(text)
    assert find_gpus(tmp_path, missing) == (
        Gpu(0, "NVIDIA H200", "GPU-1"),
        Gpu(1, "NVIDIA H200", "GPU-2"),
    )


def test_a_machine_without_any(tmp_path: Path) -> None:
    assert find_gpus(tmp_path / "none", missing) == ()


def test_no_device_is_given_twice() -> None:
    allocator = GpuAllocator([Gpu(0), Gpu(1), Gpu(2)])
    assert allocator.give(("a", "main"), 2) == (0, 1)
    assert allocator.give(("a", "main"), 2) == (0, 1)
    assert allocator.give(("b", "main"), 2) is None
    assert allocator.give(("b", "main"), 1) == (2,)
    assert allocator.free == []
    allocator.release("a")
    assert allocator.free == [0, 1]
    assert allocator.give(("d", "main"), 1) == (0,)


def test_containers_see_their_devices_and_no_others() -> None:
    both = {"CUDA_VISIBLE_DEVICES": "0,2", "NVIDIA_VISIBLE_DEVICES": "0,2"}
    assert visible_devices((0, 2), are_real=True) == both
    assert visible_devices((), are_real=True) == {"CUDA_VISIBLE_DEVICES": ""}
    simulated = {"CUDA_VISIBLE_DEVICES": "", "NVIDIA_VISIBLE_DEVICES": "void"}
    assert visible_devices((0,), are_real=False) == simulated


def test_a_container_asks_by_its_limits() -> None:
    assert gpu_count({"resources": {"limits": {"nvidia.com/gpu": "2"}}}) == 2
    assert gpu_count({"resources": {"requests": {"cpu": "1"}}}) == 0
    assert gpu_count({}) == 0
