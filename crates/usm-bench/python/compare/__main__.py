"""The comparison of `cargo xtask bench`, which builds the programs and passes their places."""

import argparse
import os
import subprocess
import time
from pathlib import Path

from judge import Goals, State, Verdict, better, judge
from machine import Machine, cuda_device
from measure import DEVICE, DEVICE_QUICK, FULL, QUICK, SMOKE, Bench, Effort, Worker, WorkerError
from record import Case
from report import Report, performance_page, write

ROOT = Path(__file__).resolve().parents[4]
CASES = ROOT / "crates/usm-bench/python/cases"
# The goals and the page of the CPU, and of a CUDA device.
GOALS = {None: ROOT / "crates/usm-bench/goals.toml", "cuda": ROOT / "crates/usm-bench/goals-cuda.toml"}
PAGES = {None: ROOT / "guide/performance.md", "cuda": ROOT / "guide/performance-cuda.md"}

# Seconds that a program on a device may take for an answer: a GPU is there for minutes.
DEVICE_PATIENCE = 40.0

# A goal that is missed so often is missed. On a device, which nobody else uses, once is enough.
TRIES, DEVICE_TRIES = 3, 1

# The folder that has dpctl's `lib`: not that of the Python where packages come from elsewhere.
PREFIX = """
import importlib.util, pathlib, sys
spec = importlib.util.find_spec("dpctl")
print(pathlib.Path(spec.origin).parents[4] if spec else sys.prefix)
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", help="the Python with usm, NumPy, dpctl and dpnp")
    parser.add_argument("--rust", help="the Rust program")
    parser.add_argument("--folder", type=Path, default=Path("report"), help="takes the reports")
    parser.add_argument("--device", choices=["cuda"], help="the cases on a GPU, in place of the ones on the CPU")
    parser.add_argument("--case", default="")
    for flag in ["--quick", "--check", "--page", "--smoke", "--look"]:
        parser.add_argument(flag, action="store_true")
    for file in ["--compare", "--judge"]:
        parser.add_argument(file, type=Path)
    return parser.parse_args()


def workers(options: argparse.Namespace) -> list[Worker]:
    """Each process has its own SYCL runtime. The module `cases` says which cases belong to which side."""
    python, rust = options.python, options.rust
    if options.device:
        side = f"{options.device}{'-smoke' if options.smoke else ''}"
        return [Worker([python, "-B", str(CASES), side], patience=DEVICE_PATIENCE)]
    prefix = subprocess.check_output([python, "-P", "-c", PREFIX], text=True).strip()
    # A GPU of this machine is no default device of these cases.
    here = os.environ | {"USM_CUDA": "0"}
    strict = here | {"USM_STRICT_DEVICE": "1"}
    sides = {"python": here, "alone": here, "queues": strict, "cluster": here}
    made = [Worker([python, "-B", str(CASES), side], environment) for side, environment in sides.items()]
    return [*made, Worker([rust], here | {"VIRTUAL_ENV": prefix})]


def effort(options: argparse.Namespace) -> Effort:
    if options.smoke:
        return SMOKE
    if options.device:
        return DEVICE_QUICK if options.quick else DEVICE
    return QUICK if options.quick else FULL


def measure(options: argparse.Namespace, goals: Goals) -> Report:
    machine = Machine.look(options.python, ROOT, cuda_device(options.python) if options.device else "")
    bench = Bench(workers(options), effort(options))
    try:
        names = bench.chosen(options.case)
        if not names:
            raise SystemExit(f"no case contains {options.case!r}")
        measured = {case.name: case for case in bench.measure(names)}
        tries = DEVICE_TRIES if options.device else TRIES
        repeated = repeat(bench, goals, measured, tries) if options.check else []
    finally:
        bench.stop()
    machine.look_again()
    cases, known = list(measured.values()), list(bench.listed)
    return Report(options.quick, machine, cases, known, repeated, time.time(), smoke=options.smoke)


def repeat(bench: Bench, goals: Goals, measured: dict[str, Case], tries: int) -> list[str]:
    """Measures failed cases again: other programs of the machine disturb some cases of any run."""
    kept: set[str] = set()
    for _ in range(1, tries):
        failed = [verdict for verdict in judge(goals, measured, bench.listed) if verdict.fails]
        names = list(dict.fromkeys(name for verdict in failed for name in verdict.needed if name in measured))
        if not names:
            break
        print(f"once more, since a goal was missed or not measured: {len(names)} cases")
        kept |= better(goals, measured, bench.listed, bench.again(names))
    return sorted(kept)


def outcome(verdicts: list[Verdict]) -> str:
    count = {state: sum(verdict.state is state for verdict in verdicts) for state in State}
    if failed := count[State.MISSED] + count[State.UNMEASURED]:
        raise SystemExit(f"{failed} goals were not reached, or not measured")
    return (
        f"{count[State.REACHED]} goals are reached, {count[State.PACED]} more only through the pace of the machine; "
        f"{count[State.AT_FLOOR]} are missed with a known reason, and not by more than it explains"
    )


def main() -> None:
    options = arguments()
    if options.look:
        print(cuda_device(options.python))
        return
    goals = Goals.parse(GOALS[options.device].read_text())
    before = Report.read(options.compare) if options.compare else None
    report = Report.read(options.judge) if options.judge else measure(options, goals)
    report.verdicts = judge(goals, {case.name: case for case in report.cases}, report.known)
    print(write(report, options.folder, before), flush=True)
    if options.page:
        PAGES[options.device].write_text(performance_page(report))
    if options.check:
        print(outcome(report.verdicts))


if __name__ == "__main__":
    try:
        main()
    except WorkerError as error:
        raise SystemExit(f"error: {error}") from None
