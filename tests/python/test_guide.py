"""The code on the pages of the guide: Python runs as it stands there, Rust is a doctest, and commands exist."""

import doctest
import os
import pathlib
import re
import sys

import pytest

import usm

from support import guide, process, requirements

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: Libraries that a program can need, and whether one that is missing is a failure here.
MODULES = {
    "numpy": requirements.NEEDS_NUMPY,
    "dpctl": requirements.REQUIRE_SYCL,
    "dask": requirements.REQUIRE_SYCL,
    "distributed": requirements.REQUIRE_SYCL,
    **dict.fromkeys(
        ("dpnp", "jax", "joblib", "mpi4py", "sklearn", "sklearnex", "xarray", "zarr"), requirements.REQUIRE_PEERS
    ),
    **dict.fromkeys(("torch", "ray"), requirements.REQUIRE_ALL_PEERS),
    **dict.fromkeys(("cupy", "numba", "usm_pyext_example"), False),
}
DEVICES = ("sycl", "cuda")
PROGRAMS = guide.programs()
#: Pages whose Rust blocks are doctests of a crate.
DOCTESTS = guide.ROOT / "crates" / "usm-bench" / "src" / "lib.rs"


def device(program: guide.Program) -> str:
    """The default device of a program; the test is skipped where the device is missing."""
    if "cuda" in program.needs:
        found = [device for device in usm.get_devices() if device.backend == "cuda"]
        if not found or found[0].name == "CUDA loopback":
            requirements.missing(
                "an NVIDIA GPU", "no device of the CUDA driver", required=requirements.REQUIRE_CUDA and not found
            )
        return found[0].filter_string
    if "sycl" in program.needs:
        if requirements.REQUIRE_CUDA:
            pytest.skip("the SYCL runtime is left out where CUDA is tested")
        return requirements.device_of("sycl").filter_string
    return "host:cpu:0"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program(program, tmp_path):
    variables = {"USM_DEFAULT_DEVICE": device(program)}
    for name in program.needs:
        if name not in DEVICES:
            requirements.module(name, required=MODULES[name])
    launcher = []
    if "mpi4py" in program.needs:
        mpiexec = pathlib.Path(sys.executable).parent / "mpiexec"
        if not mpiexec.exists():
            requirements.missing("mpiexec", f"there is no {mpiexec}", required=requirements.REQUIRE_PEERS)
        launcher = [str(mpiexec), "-n", "1"]
    done = process.run_program(program.source(), tmp_path, launcher, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = guide.outputs(done.stdout)
    assert len(printed) == len(program.blocks)
    checker = doctest.OutputChecker()
    for block, found in zip(program.blocks, printed, strict=True):
        wanted = block.output
        where = f"guide/{program.page}.md:{block.line}"
        assert wanted is None or checker.check_output(wanted, found, FLAGS), (
            f"{where} prints\n{found}\nin place of\n{wanted}"
        )


@pytest.mark.skipif(not guide.FOLDER.exists(), reason="the guide is not here")
class TestPages:
    def test_there_are_programs(self):
        assert len(PROGRAMS) > 10

    def test_comments_are_known(self):
        for file in guide.pages():
            for block in guide.blocks(file):
                for comment in block.comments:
                    known = re.fullmatch(r"program( needs [\w, ]+)?|raises \w[\w.]*|from \S+", comment)
                    assert known, f"{file}:{block.line}: {comment}"

    def test_needs_are_known(self):
        for program in PROGRAMS:
            assert set(program.needs) <= {*MODULES, *DEVICES}, program.name

    def test_rust_is_tested(self):
        """By a doctest, or as a part of a file that is built and tested."""
        of_doctests = DOCTESTS.read_text(encoding="utf-8")
        for file in guide.pages():
            page = file.relative_to(guide.ROOT).as_posix()
            for block in guide.blocks(file):
                if not block.language.startswith("rust"):
                    continue
                parts = [comment.removeprefix("from ") for comment in block.comments if comment.startswith("from ")]
                if parts:
                    assert block.text in (guide.ROOT / parts[0]).read_text(encoding="utf-8"), f"{page}:{block.line}"
                else:
                    assert f'"../../../{page}"' in of_doctests, f"{page}:{block.line} is not in {DOCTESTS}"

    def test_commands_exist(self):
        """Commands of cargo xtask are its commands, extras are those of the wheel, and modules are there."""
        contributing = (guide.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        project = (guide.ROOT / "crates" / "usm-python" / "pyproject.toml").read_text(encoding="utf-8")
        num_checked = 0
        for file in guide.pages():
            for block in guide.blocks(file):
                assert block.language not in ("", "bash", "shell", "console"), (
                    f"{file}:{block.line}: {block.language!r}"
                )
                if block.language != "sh":
                    continue
                for word in re.findall(r"cargo xtask (\w+)", block.text):
                    assert f"| `cargo xtask {word}" in contributing, f"{file}:{block.line}: {word}"
                    num_checked += 1
                for extras in re.findall(r"\$wheel\[([\w,-]+)\]", block.text):
                    for extra in extras.split(","):
                        assert re.search(rf"^{extra} = \[", project, re.MULTILINE), f"{file}:{block.line}: {extra}"
                        num_checked += 1
        assert num_checked >= 3

    def test_a_wrong_output_is_found(self, tmp_path):
        block = guide.Block("python", 3, ["print(1)"], [], "2\n")
        done = process.run_program(guide.Program("x", [], [block]).source(), tmp_path, **os.environ)
        (printed,) = guide.outputs(done.stdout)
        assert printed == "1\n" and not doctest.OutputChecker().check_output(block.output, printed, FLAGS)
