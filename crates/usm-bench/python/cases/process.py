"""What happens once in a process: import, and the first strided copy."""

import subprocess
import sys
from collections.abc import Iterator

from case import Case, value

FIRST = """
import time
import {module} as xp
a = xp.zeros((64, 64), dtype="f8", usm_type="shared")
b = xp.zeros((32, 64), dtype="f8", usm_type="shared")
start = time.perf_counter_ns()
b[...] = a[::2]
{wait}
print(time.perf_counter_ns() - start)
"""
RESIDENT = """
{statement}
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:")))
"""
WHOLE = """
import subprocess, sys, time
start = time.perf_counter_ns()
subprocess.run([sys.executable, "-c", {statement!r}], check=True)
print(time.perf_counter_ns() - start)
"""

MODULES = {"usm": "import usm, usm.tensor", "NumPy": "import numpy", "dpctl": "import dpctl", "dpnp": "import dpnp"}


def printed(program: str) -> float:
    """The number that a program prints in a process of its own."""
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return float(run.stdout)


def cases() -> Iterator[Case]:
    statements = MODULES | {"the interpreter": "pass"}
    whole = [value(name, lambda s=s: printed(WHOLE.format(statement=s))) for name, s in statements.items()]
    yield Case("process/import", whole, once=True)
    resident = [value(name, lambda s=s: printed(RESIDENT.format(statement=s))) for name, s in statements.items()]
    yield Case("process/resident memory after import", resident, unit="B", once=True)
    first = [("usm", "usm.tensor", ""), ("dpnp", "dpnp.tensor", "b.sycl_queue.wait()")]
    contenders = [value(name, lambda m=m, w=w: printed(FIRST.format(module=m, wait=w))) for name, m, w in first]
    yield Case("process/first strided copy", contenders, once=True)
