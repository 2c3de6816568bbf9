"""Runs the array API's own test suite on `usm.tensor` and on the libraries that compute for it.

    python tests/array_api/run.py CLONE --report docs/array-api.md

CLONE is a clone of https://github.com/data-apis/array-api-tests with its submodule. The report has the figures of each
memory beside those of the provider alone, and each test that fails on ours with its reason. The exit code is 1 when a
test fails without one: neither the provider fails it nor is it in `REASONS`.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from collections.abc import Sequence
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent
SELDOM = "complex special values of the provider, which the suite draws seldom"
# What fails on ours and not with the provider: a part of the test's name, a part of its message, and the reason.
REASONS = [
    ("test_dlpack.py::test_dunder_dlpack", "", "the suite asks for a copy-free export of device memory to the CPU"),
    ("test_dlpack.py::test_dlpack_device", "", "the suite lists no kDLExtDev, which protected memory is"),
    (
        "",
        "_cuda\" not implemented for 'UInt",
        "PyTorch lacks it for uint16 to uint64, which its namespace does not list",
    ),
    # PyTorch's own functions on a GPU.
    ("test_unary[acosh(", "out=(nan+nanj)", SELDOM),
    ("test_unary[tanh(", "out=(nan+nanj)", SELDOM),
    ("test_unary[tanh(", "out=(1-0j), but should be 1 + 0j", SELDOM),
]


class Memory(NamedTuple):
    """A namespace of ours, and the one of its provider."""

    title: str
    ours: str
    provider: str
    package: str
    variables: dict[str, str]


MEMORIES = {
    "host": Memory("host memory, NumPy", "on_host", "numpy", "numpy", {"USM_DEFAULT_DEVICE": "host", "USM_CUDA": "0"}),
    "protected": Memory(
        "device memory of the host backend, NumPy on a copy",
        "usm.tensor",
        "numpy",
        "numpy",
        {"USM_DEFAULT_DEVICE": "host", "USM_CUDA": "0"},
    ),
    "sycl": Memory(
        "device memory of opencl:cpu, dpnp",
        "usm.tensor",
        "dpnp",
        "dpnp",
        {"USM_DEFAULT_DEVICE": "opencl:cpu", "USM_CUDA": "0"},
    ),
    "cupy": Memory(
        "device memory of a GPU, CuPy",
        "usm.tensor",
        "array_api_compat.cupy",
        "cupy",
        {"USM_DEFAULT_DEVICE": "cuda:gpu:0"},
    ),
    "torch": Memory(
        "device memory of a GPU, PyTorch",
        "usm.tensor",
        "array_api_compat.torch",
        "torch",
        {"USM_DEFAULT_DEVICE": "cuda:gpu:0"},
    ),
}
CHOICE = "import usm.compute\nusm.compute.use_provider({package!r})\n"


class Result(NamedTuple):
    passed: set[str]
    failed: dict[str, str]
    skipped: int


def suite(
    clone: pathlib.Path, namespace: str, memory: Memory, examples: int, processes: int, tests: Sequence[str] = ()
) -> Result:
    """The outcome of each test of the suite on a namespace, or of the named tests."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        # Before the suite: usm shows the CPU to SYCL, also where dpnp is tested alone.
        is_chosen = namespace != memory.provider and memory.package in ("cupy", "torch")
        plugin = pathlib.Path(folder) / "before_the_suite.py"
        plugin.write_text(CHOICE.format(package=memory.package) if is_chosen else "import usm\n")
        paths = [folder, str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", *(tests or ["array_api_tests"]), "-q", "-p", "no:cacheprovider"),
                *("-p", "before_the_suite"),
                *("--disable-deadline", f"--max-examples={examples}", f"--junitxml={report}"),
                *(("-n", str(processes)) if processes > 1 else ()),
            ],
            cwd=clone,
            env=os.environ
            | memory.variables
            | {"ARRAY_API_TESTS_MODULE": namespace, "PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not report.exists():
            sys.exit(f"the suite did not run on {namespace}:\n{done.stdout[-3000:]}")
        root = xml.parse(report).getroot()
    passed, failed, skipped = set(), {}, 0
    for case in root.iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}.py::{case.get('name')}"
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        if problem is not None:
            failed[name] = (problem.get("message") or "").splitlines()[0][:160] if problem.get("message") else ""
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed.add(name)
    return Result(passed, failed, skipped)


def ask_again(clone: pathlib.Path, memory: Memory, ours: Result, theirs: Result, examples: int) -> None:
    """Runs what failed on ours alone on the provider with many more examples: the suite draws some values seldom."""
    alone = [f"array_api_tests/{name}" for name in ours.failed if name not in theirs.failed]
    if alone:
        theirs.failed.update(suite(clone, memory.provider, memory, 50 * examples, 1, alone).failed)


def reason(name: str, message: str, provider: Result) -> str | None:
    if name in provider.failed:
        return "the provider fails it, too"
    return next((text for test, part, text in REASONS if test in name and part in message), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=pathlib.Path)
    parser.add_argument("--memory", action="append", choices=sorted(MEMORIES), help="by default all that are here")
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if not (options.clone / "array_api_tests").is_dir() or not (options.clone / "array-api" / "src").is_dir():
        sys.exit(f"{options.clone}: found no clone of array-api-tests with its submodule array-api")
    lines = [
        "# The array API's own test suite",
        "",
        "`cargo xtask verify array-api --array-api CLONE` writes this page from a clone of",
        "[array-api-tests](https://github.com/data-apis/array-api-tests), with all extensions. Beside ours stand the",
        "results of the library that computes, with its own arrays.",
        "",
        "| memory and provider | passed | failed | skipped | the provider alone: passed | failed |",
        "|---|---|---|---|---|---|",
    ]
    details, unexplained = [], 0
    for key in options.memory or MEMORIES:
        memory = MEMORIES[key]
        if importlib.util.find_spec(memory.package) is None:
            print(f"{key}: {memory.package} is not installed", flush=True)
            continue
        ours = suite(options.clone, memory.ours, memory, options.examples, options.processes)
        theirs = suite(options.clone, memory.provider, memory, options.examples, options.processes)
        counted = len(theirs.failed)
        ask_again(options.clone, memory, ours, theirs, options.examples)
        row = f"| {memory.title} | {len(ours.passed)} | {len(ours.failed)} | {ours.skipped} "
        row += f"| {len(theirs.passed)} | {counted} |"
        print(row, flush=True)
        lines.append(row)
        details += ["", f"## Failed on {memory.title}", "", "| test | reason |", "|---|---|"]
        for name, message in sorted(ours.failed.items()):
            found = reason(name, message, theirs)
            if found is None:
                unexplained += 1
                print(f"without a reason: {name}: {message}", flush=True)
            text = name.replace("|", "\\|")
            details.append(f"| `{text}` | {found or 'none: ' + message} |")
    if options.report:
        options.report.write_text("\n".join([*lines, *details]) + "\n")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
