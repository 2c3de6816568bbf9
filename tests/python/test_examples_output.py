"""The programs of `examples/`: each runs in a process of its own and prints what `examples/output/` has.

`…` in an expected line stands for any text, such as the name of a device. A line of a library that is not installed may
be absent.
"""

import dataclasses
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from support import process, requirements

FOLDER = pathlib.Path(__file__).parents[2] / "examples"
#: Whether a missing library is a failure.
NEEDED = requirements.REQUIRE_SYCL or requirements.REQUIRE_PEERS
PEER = requirements.REQUIRE_PEERS
REQUIRED = {
    "numpy": requirements.NEEDS_NUMPY,
    "dask": NEEDED,
    "distributed": NEEDED,
    "dpctl": NEEDED,
    "dpnp": PEER,
    "ipykernel": PEER,
    "nbclient": PEER,
    "sklearnex": PEER,
    "torch": requirements.REQUIRE_ALL_PEERS,
}
#: Lines that begin like this are there where the library is installed.
OPTIONAL = {"PyTorch": "torch"}


@dataclasses.dataclass(frozen=True)
class Row:
    """A run of an example, the backend of its device, and the libraries that it needs."""

    program: str
    backend: str
    needs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "-".join([self.program.removesuffix(".py"), self.backend])


TABLE = [
    Row("image_pipeline.py", "host"),
    Row("heat.py", "host", ("numpy",), ("host:cpu:0",)),
    Row("heat.py", "sycl", ("numpy",), ("opencl:cpu:0", "heat.svg")),
    Row("heat.py", "cuda", ("numpy",), ("cuda:gpu:0",)),
    Row("kmeans.py", "sycl", ("numpy", "dpctl", "dpnp", "sklearnex")),
    Row("one_allocation.py", "sycl", ("numpy", "dpctl", "dpnp")),
    Row("dask_workers.py", "host", ("numpy", "dask", "distributed")),
    Row("gpu_program.py", "cuda", ("numpy",)),
]
ON_CUDA = requirements.REQUIRE_CUDA
# One run of the tests is about CUDA devices alone.
SELECTED = [row for row in TABLE if (row.backend == "cuda") == ON_CUDA]


def need(names: tuple[str, ...]) -> None:
    for name in names:
        if importlib.util.find_spec(name) is None:
            requirements.missing(name, "it is not installed", required=REQUIRED[name])


def draws() -> bool:
    """Whether the library for plots is there, which must be so where peers are required."""
    return PEER or importlib.util.find_spec("matplotlib") is not None


def program(folder: pathlib.Path, *arguments: str) -> str:
    """What a Python program prints. It must succeed in time; else it ends with the processes that it started."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        env=process.MINIMAL,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            printed, errors = started.communicate(timeout=process.LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            printed, errors = started.communicate()
            pytest.fail(f"no end after {process.LIMIT_S} s\n{printed}\n{errors}")
    if "NVRTC, which was not found" in errors:
        requirements.missing("NVRTC", "a kernel in CUDA C needs it", required=requirements.REQUIRE_NVRTC)
    assert started.returncode == 0, f"exit {started.returncode}\n{printed}\n{errors}"
    return printed


def agrees(printed: str, expected: str) -> bool:
    """Whether the lines are the expected ones, but for texts in place of `…`."""
    lines = printed.splitlines()
    patterns = [".*".join(map(re.escape, line.split("…"))) for line in expected.splitlines()]
    return len(lines) == len(patterns) and all(map(re.fullmatch, patterns, lines))


def expected(name: str) -> str:
    lines = (FOLDER / "output" / name).read_text().splitlines(keepends=True)
    absent = tuple(start for start, library in OPTIONAL.items() if importlib.util.find_spec(library) is None)
    return "".join(line for line in lines if not line.startswith(absent))


@pytest.mark.indifferent
@pytest.mark.parametrize("row", SELECTED, ids=str)
def test_it_prints_what_is_expected(row, tmp_path):
    need(row.needs)
    if row.backend == "sycl":
        requirements.device_of("sycl")
    if row.program == "gpu_program.py" and "USM_CUDA_DRIVER" not in os.environ:
        pytest.skip("gpu_program.py is for the stand-in of the driver, and this is a GPU")
    printed = program(tmp_path, str(FOLDER / row.program), *row.arguments)
    wanted = expected(row.program.replace(".py", ".txt"))
    if "heat.svg" in row.arguments and draws():
        assert "<svg" in (tmp_path / "heat.svg").read_text()
        wanted += "wrote heat.svg\n"
    assert agrees(printed, wanted), f"{row.program} printed\n{printed}\nexpected is\n{wanted}"


@pytest.mark.skipif(ON_CUDA, reason="one run of it is enough")
def test_the_pipeline_writes_its_image(tmp_path):
    program(tmp_path, str(FOLDER / "image_pipeline.py"), "result.ppm")
    header, pixels = (tmp_path / "result.ppm").read_bytes().split(b"\n", 1)
    assert header == b"P6 100 80 255" and len(pixels) == 100 * 80 * 3
    # The corners of the crop in the order from right to left: red grows to the right, green downwards.
    columns, rows = [129 * 255 // 160, 30 * 255 // 160], [20 * 255 // 120, 99 * 255 // 120]
    corners = [pixels[at : at + 2] for at in (0, 99 * 3, 79 * 300, 79 * 300 + 99 * 3)]
    assert corners == [bytes([red, green]) for green in rows for red in columns]


NOTEBOOK = """
import sys
import nbclient, nbformat

notebook = nbformat.read(sys.argv[1], as_version=4)
assert not any(cell.get("outputs") for cell in notebook.cells), "committed with outputs"
nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        kinds = {"<svg": "drawing", "<table": "table", "": "text"}
        kind = next(kind for mark, kind in kinds.items() if mark in data.get("text/html", ""))
        print(output.get("text") or kind, end=" ")
"""


@pytest.mark.skipif(ON_CUDA, reason="one run of it is enough")
def test_the_notebook_draws(tmp_path):
    need(("numpy", "nbclient", "ipykernel"))
    printed = program(tmp_path, "-c", NOTEBOOK, str(FOLDER / "drawings.ipynb"))
    expected = "drawing strides (6, -2) in elements drawing drawing [0 1 2 3 4 5] drawing table table"
    assert printed.split() == expected.split()


@pytest.mark.skipif(ON_CUDA, reason="one run of it is enough")
def test_each_example_is_in_the_table():
    programs = {path.name for path in FOLDER.glob("*.py")} - {"zero_copy.py", "cuda_exchange.py"}
    assert programs == {row.program for row in TABLE}
    page = (FOLDER / "README.md").read_text()
    for path in [*FOLDER.glob("*.py"), *FOLDER.glob("*.ipynb")]:
        assert f"]({path.name})" in page, f"examples/README.md has no {path.name}"
    for name in programs:
        assert len((FOLDER / name).read_text().splitlines()) <= 80, f"{name} is longer than a page"


def test_other_output_is_found():
    assert agrees("on cpu: 3\n", "on …: 3\n")
    for wrong in ("on cpu: 4\n", "on cpu: 3\nmore\n", "", "and on cpu: 3\n"):
        assert not agrees(wrong, "on …: 3\n"), wrong
