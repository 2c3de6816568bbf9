"""Where a run took place, how busy it was there, and which versions took part."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Above this load for each processor, other programs were at work.
BUSY = 0.3

VERSIONS = """
import json, platform
from importlib.metadata import distributions
there = {one.name: one.version for one in distributions()} | {"Python": platform.python_version()}
print(json.dumps({name: there.get(name, "not installed") for name in NAMES}))
"""
# The other libraries of the CPU, and of a CUDA device. CuPy's package is named after the CUDA version.
NAMES = ["Python", "usm", "numpy", "dpctl", "dpnp", "intel-sycl-rt", "intel-opencl-rt"]
DEVICE_NAMES = ["Python", "usm", "numpy", "cupy-cuda13x", "torch"]

# The first CUDA device; fails with the reason where there is none.
DEVICE = """
import sys, usm
found = [device for device in usm.get_devices() if device.backend == "cuda"]
if not found:
    reasons = [backend["reason"] for backend in usm.backends() if backend["name"] == "cuda"]
    sys.exit(f"error: a CUDA device is required: {reasons[0] if reasons and reasons[0] else 'the driver shows none'}")
print(f"{found[0].name}, {found[0].global_mem_size >> 20} MiB, driver {found[0].driver_version}")
"""


@dataclass
class Machine:
    processor: str
    processors: int
    memory_bytes: int
    load_before: float
    load_after: float
    versions: dict[str, str]
    # With a plus where files differ from it.
    commit: str
    device: str = ""

    @classmethod
    def look(cls, python: str, root: Path, device: str = "") -> "Machine":
        load = os.getloadavg()[0]
        names = f"NAMES = {DEVICE_NAMES if device else NAMES}"
        versions = json.loads(subprocess.check_output([python, "-P", "-c", f"{names}{VERSIONS}"], text=True))
        processor = next((line for line in Path("/proc/cpuinfo").open() if line.startswith("model name")), ": unknown")
        describe = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
        commit = subprocess.run(describe, cwd=root, capture_output=True, text=True).stdout.strip()
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        name, processors = processor.partition(":")[2].strip(), len(os.sched_getaffinity(0))
        return cls(name, processors, memory_bytes, load, load, versions, commit or "unknown", device)

    def look_again(self) -> None:
        self.load_after = os.getloadavg()[0]

    def was_busy(self) -> bool:
        return self.load_before > BUSY * self.processors

    def words(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        memory = f"{self.memory_bytes >> 20} MiB"
        device = f"{self.device}; " if self.device else ""
        return f"{device}{self.processors} × {self.processor}, {memory}; commit {self.commit}; {versions}"

    def load_words(self) -> str:
        load = f"load {self.load_before:.1f} before, {self.load_after:.1f} after"
        if self.was_busy():
            return f"The machine was busy with other work at the start ({load}): ratios mean something, times do not."
        return f"The machine was quiet at the start ({load})."


def cuda_device(python: str) -> str:
    """The CUDA device that is measured, in words."""
    run = subprocess.run([python, "-P", "-c", DEVICE], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr.strip())
    return run.stdout.strip()
