"""Load for some time: threads, many live allocations, exchanges, garbage, exceptions; the process does not grow.

``USM_TEST_LOAD_MINUTES`` has the minutes on each backend.
"""

import json
import os
import subprocess
import sys

import pytest

from support import figures, process, requirements, rounds

MINUTES = float(os.environ.get("USM_TEST_LOAD_MINUTES", "0"))
SECONDS = 60 * MINUTES or 4
#: Memory that one of many live allocations takes, with all that Python and the package know about it.
BYTES_OF_EACH = 4096


def most_live():
    """A million, or as many as half of the free memory has; fewer for the gate."""
    with open("/proc/meminfo") as figures_of_system:
        available = next(int(line.split()[1]) for line in figures_of_system if line.startswith("MemAvailable:"))
    return min(1_000_000, available * 1024 // 2 // BYTES_OF_EACH) if MINUTES else 20_000


@pytest.mark.lengthy
@pytest.mark.parametrize("backend", ["host", "sycl"])
def test_load_is_held(backend):
    device = requirements.device_of(backend).filter_string
    numbers = map(str, (SECONDS, most_live(), rounds.SEED))
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", "from support.load import main; main()", device, *numbers],
        cwd=rounds.FOLDER,
        env=rounds.environment_of(backend),
        capture_output=True,
        text=True,
        timeout=process.LIMIT_S + 2 * SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"USM_TEST_SEED={rounds.SEED}\n{done.stdout}\n{done.stderr}"
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["allocations"] > 10_000
    before, after = (int(size) >> 20 for size in found["resident"])
    figures.add(
        f"{found['allocations']:,} allocations and frees in {SECONDS / 60:.1f} min on {device}, "
        f"{found['rate']:,.0f} a second, half of them in {found['median_us']:.1f} µs, "
        f"99.9 % in {found['p99.9_us']:.1f} µs; {found['live']:,} live at once; "
        f"{before} MiB in the second quarter and {after} MiB in the last one"
    )
