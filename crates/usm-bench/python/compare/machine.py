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
names = ["Python", "usm", "numpy", "dpctl", "dpnp", "intel-sycl-rt", "intel-opencl-rt"]
print(json.dumps({name: there.get(name, "not installed") for name in names}))
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

    @classmethod
    def look(cls, python: str, root: Path) -> "Machine":
        load = os.getloadavg()[0]
        versions = json.loads(subprocess.check_output([python, "-P", "-c", VERSIONS], text=True))
        processor = next((line for line in Path("/proc/cpuinfo").open() if line.startswith("model name")), ": unknown")
        describe = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
        commit = subprocess.run(describe, cwd=root, capture_output=True, text=True).stdout.strip()
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        name, processors = processor.partition(":")[2].strip(), len(os.sched_getaffinity(0))
        return cls(name, processors, memory_bytes, load, load, versions, commit or "unknown")

    def look_again(self) -> None:
        self.load_after = os.getloadavg()[0]

    def was_busy(self) -> bool:
        return self.load_before > BUSY * self.processors

    def words(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        memory = f"{self.memory_bytes >> 20} MiB"
        return f"{self.processors} × {self.processor}, {memory}; commit {self.commit}; {versions}"

    def load_words(self) -> str:
        load = f"load {self.load_before:.1f} before, {self.load_after:.1f} after"
        if self.was_busy():
            return f"The machine was busy with other work at the start ({load}): ratios mean something, times do not."
        return f"The machine was quiet at the start ({load})."
