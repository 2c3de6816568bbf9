"""The programs of the guide of Dask run as they stand there."""

import pathlib
import re
import subprocess
import sys

import pytest

from support import process, requirements

requirements.needed("distributed", required=requirements.REQUIRE_SYCL)

GUIDE = pathlib.Path(__file__).parents[2] / "guide" / "dask.md"
#: What they print, by the order in the guide.
PRINTED = [r"usm_ndarray shared 1000000000\.0\n", r"usm_ndarray\n", r"0\.[45]\d+\n", ""]
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL) if GUIDE.exists() else []


def test_each_program_is_here():
    if not PROGRAMS:
        pytest.skip("the guide is not here")
    assert len(PROGRAMS) == len(PRINTED)


@pytest.mark.parametrize("number", range(len(PRINTED)))
def test_a_program(number, tmp_path):
    if not PROGRAMS:
        pytest.skip("the guide is not here")
    if "import zarr" in PROGRAMS[number]:
        requirements.module("zarr", required=requirements.REQUIRE_PEERS)
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[number])
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**process.MINIMAL, "USM_DEFAULT_DEVICE": "host:cpu:0"},
        capture_output=True,
        text=True,
        timeout=process.LIMIT_S,
        check=False,
    )
    assert done.returncode == 0 and re.fullmatch(PRINTED[number], done.stdout), done.stdout + done.stderr
