"""The programs of the guides of processes and of Dask run as they stand there."""

import pathlib
import re

import pytest

from support import process, requirements

FOLDER = pathlib.Path(__file__).parents[2] / "guide"
#: What they print, by the order in their guide.
PRINTED = {
    "processes": [r"2\.0\n"],
    "dask": [r"usm_ndarray shared 1000000000\.0\n", r"usm_ndarray\n", r"0\.[45]\d+\n", ""],
}
NUMBERED = [(guide, number) for guide, printed in PRINTED.items() for number in range(len(printed))]


def programs(guide):
    file = FOLDER / f"{guide}.md"
    if not file.exists():
        pytest.skip("the guide is not here")
    return re.findall(r"```python\n(.*?)```", file.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("guide", PRINTED)
def test_each_program_is_here(guide):
    assert len(programs(guide)) == len(PRINTED[guide])


@pytest.mark.parametrize(("guide", "number"), NUMBERED)
def test_a_program(guide, number, tmp_path):
    text = programs(guide)[number]
    if guide == "dask":
        requirements.module("distributed", required=requirements.REQUIRE_SYCL)
    if "import zarr" in text:
        requirements.module("zarr", required=requirements.REQUIRE_PEERS)
    if "*=" in text:
        requirements.module("numpy", required=requirements.NEEDS_NUMPY)
    done = process.run_program(text, tmp_path, USM_DEFAULT_DEVICE="host:cpu:0")
    assert done.returncode == 0 and re.fullmatch(PRINTED[guide][number], done.stdout), done.stdout + done.stderr
