"""mpi4py sends our arrays from one process to another, by DLPack and without a copy on the way to MPI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import requirements

PROGRAM = """
import sys
from mpi4py import MPI
import usm, usm.tensor as ut

device, kind = sys.argv[1:]
queue = usm.SyclQueue(device)
here = {"usm_type": kind, "sycl_queue": queue}
world = MPI.COMM_WORLD
numbers = ut.arange(1000, dtype="i4", **here)
if world.rank == 0:
    # The fill is pending when MPI asks for the memory.
    large = ut.full((1 << 20,), 7, dtype="i8", **here)
    world.Send(large, dest=1)
    world.Send(numbers[100:200], dest=1)
    try:
        world.Send(numbers[::2], dest=1)
    except (BufferError, ValueError) as error:
        print("refused", flush=True)
else:
    large = ut.zeros((1 << 20,), dtype="i8", **here)
    world.Recv(large, source=0)
    assert ut.all(large == 7)
    part = ut.zeros(300, dtype="i4", **here)
    world.Recv(part[50:150], source=0)
    assert part.tolist() == [0] * 50 + list(range(100, 200)) + [0] * 150
    print("received", flush=True)
total = ut.zeros(1, dtype="f8", **here)
world.Allreduce(ut.full((1,), world.rank + 1.5, dtype="f8", **here), total)
assert float(total[0]) == 4.0
"""


def test_two_ranks_exchange_messages(queue, usm_type):
    requirements.module("mpi4py", required=requirements.REQUIRE_PEERS)
    if not queue.sycl_device.is_cpu or (queue.sycl_device.backend == "host" and usm_type == "device"):
        pytest.skip("this MPI reads memory by host code, and does not ask where memory is")
    folder = Path(sys.executable).parent
    if not (folder / "mpiexec").exists():
        requirements.missing("mpiexec", f"it is not in {folder}", required=requirements.REQUIRE_PEERS)
    done = subprocess.run(
        [folder / "mpiexec", "-n", "2", sys.executable, "-c", PROGRAM, queue.sycl_device.filter_string, usm_type],
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "received" in done.stdout and "refused" in done.stdout, done.stdout + done.stderr
