"""Runs the packed tests on a device: needs Python with pytest, and no compiler, checkout or network.

`cargo xtask test --device cuda` makes the folder and starts this program in it. With `--pack` it leaves an archive of
the folder instead, for a machine with a GPU: unpack it there and run `python3 run.py`. A missing device is a failure.
"""

import argparse
import concurrent.futures
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
TESTS = FOLDER / "tests" / "python"
# A program that hangs is a failure. One has nearly all tests of a crate, so that a slow machine needs minutes for it.
RUST_SECONDS = 1200
# What is run once more with PyTorch in place of CuPy, where that is installed.
COMPUTE = ["test_compute.py", "test_numpy_protocols.py", "test_array_methods.py", "test_narrow.py"]
# The seed of a random order of the tests, for `conftest.py`, too.
SHUFFLE = "USM_TEST_SHUFFLE"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 8), help="processes at once")
    parser.add_argument("--only", choices=("rust", "python"), help="one of the two suites")
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, behind --")
    return parser.parse_args()


def run_one(program: pathlib.Path, folder: str, environment: dict[str, str]) -> tuple[pathlib.Path, int, str]:
    """A test program, its exit status, and what it printed."""
    # Some tests count all memory of the process: one after the other.
    command = [program, "--test-threads", "1"]
    if SHUFFLE in environment:
        # The harness of a stable toolchain takes this option only with the variable.
        environment = environment | {"RUSTC_BOOTSTRAP": "1"}
        command += ["-Z", "unstable-options", "--shuffle-seed", environment[SHUFFLE]]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=RUST_SECONDS,
        )
    except subprocess.TimeoutExpired as late:
        return program, 124, f"{late.stdout}\n{late.stderr}\nhung: no end within {RUST_SECONDS} s"
    return program, done.returncode, done.stdout + done.stderr


def rust(processes: int, environment: dict[str, str]) -> list[str]:
    """Runs all test programs; the names of those that failed, whose output is printed."""
    programs = sorted(path for path in (FOLDER / "rust").iterdir() if path.suffix != ".so")
    failed = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(max(1, processes)) as pool:
        runs = [pool.submit(run_one, program, folder, environment) for program in programs]
        for run in concurrent.futures.as_completed(runs):
            program, status, output = run.result()
            results = [line for line in output.splitlines() if line.startswith("test result:")]
            print(f"{program.name}: {results[-1] if results else f'exit status {status}'}", flush=True)
            if status != 0:
                print(output, flush=True)
                failed.append(program.name)
    return failed


def python(processes: int, options: list[str], environment: dict[str, str]) -> bool:
    """Installs the wheels into a folder of their own and runs pytest there; whether it passed."""
    wheels = FOLDER.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder) / "site"
        install = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", site, *wheels]
        subprocess.run([sys.executable, *install], check=True)
        environment |= {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        # The comparison is no part of the package.
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs"]
        command += ["--ignore-glob", str(TESTS / "test_bench_*.py")]
        if processes > 1:
            command += ["-n", str(processes), "--dist", "worksteal"]
        elsewhere = pathlib.Path(folder) / "elsewhere"
        elsewhere.mkdir()
        done = subprocess.run([*command, *options, TESTS], cwd=elsewhere, env=environment)
        if done.returncode == 0 and importlib.util.find_spec("torch") is not None:
            files = [TESTS / name for name in COMPUTE]
            done = subprocess.run(
                [*command, *options, *files], cwd=elsewhere, env=environment | {"USM_TEST_PROVIDER": "torch"}
            )
    return done.returncode == 0


def main() -> int:
    options = arguments()
    # JAX would take three quarters of a GPU's memory, which other processes of the tests need.
    environment = os.environ | {"USM_REQUIRE_CUDA": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    # A program that hangs prints the stacks of its threads before it is ended (crates/test-stacks).
    environment.setdefault("USM_TEST_LIMIT_S", str(RUST_SECONDS - 100))
    if options.shuffle is not None:
        environment[SHUFFLE] = str(options.shuffle)
    failed = []
    if options.only != "python":
        failed += rust(options.processes, environment)
    if options.only != "rust" and not python(options.processes, options.pytest, environment):
        failed.append("pytest")
    print("failed: " + ", ".join(failed) if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
