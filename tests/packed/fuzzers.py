"""Runs libFuzzer's programs for some minutes each, as many at once as there are processors, and tells the executions.

The minutes are a mean: a processor that is free takes the program with the fewest executions for the next one.
`cargo xtask verify fuzz` starts this program, here or on another machine. New inputs stay in the corpus. An input that
crashes lies in the folder `artifacts` beside the corpus, and is a failure. The file `executions.json` beside the corpus
has the executions of all runs: after a run elsewhere, bring it back.

AddressSanitizer takes most of the time of a program, so each program is also built without it. A fifth of the
executions of a run are with it.
"""

import argparse
import collections
import concurrent.futures
import datetime
import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

# The executions of all runs, in the folder of the corpus.
EXECUTIONS = "executions.json"
# Longer inputs say no more.
MOST_BYTES = 512
# The time that a program may need beyond its minutes, for its start and the first look at the corpus.
PATIENCE_S = 300
# The time for which a processor stays with a program. A new process takes over what others found.
SLOT_S = 60
# The most memory of a program.
MOST_MB = 2048
# One execution of so many is with AddressSanitizer.
SANITIZED_OF = 5
# Without this, up to a third of the time goes into stacks of allocations and into stacks of calls that have returned.
SANITIZER = {"ASAN_OPTIONS": "detect_stack_use_after_return=0:malloc_context_size=2"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=pathlib.Path, help="the folder of the programs with AddressSanitizer")
    parser.add_argument("plain", type=pathlib.Path, help="the folder of the programs without")
    parser.add_argument("folder", type=pathlib.Path, help="the folder with corpus, dictionaries and artifacts")
    parser.add_argument("names", nargs="+", help="the programs")
    parser.add_argument("--minutes", type=float, default=10)
    return parser.parse_args()


class Programs:
    """The executions of each program, and which of them runs next: one with the fewest of all runs."""

    def __init__(self, names: list[str], file: pathlib.Path) -> None:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        self.file = file
        noted = {"since": today, "executions": {}, "with AddressSanitizer": {}}
        if file.exists():
            noted = json.loads(file.read_text())
        self.since = noted["since"]
        self.all_runs: dict[str, int] = dict.fromkeys(names, 0) | noted["executions"]
        self.all_sanitized: dict[str, int] = dict.fromkeys(names, 0) | noted["with AddressSanitizer"]
        self.executions = dict.fromkeys(names, 0)
        self.sanitized = dict.fromkeys(names, 0)
        self.seconds = dict.fromkeys(names, 0.0)
        self.running: collections.Counter[str] = collections.Counter()
        self.lock = threading.Lock()

    def start(self, slot_s: float) -> tuple[str, bool]:
        """The program that runs for the next seconds, and whether with AddressSanitizer."""

        def expected(name: str) -> tuple[int, float]:
            running = self.running[name]
            if not self.seconds[name]:
                # Its speed is not known.
                return running, self.all_runs[name]
            return 0, self.all_runs[name] + running * slot_s * self.executions[name] / self.seconds[name]

        with self.lock:
            name = min(self.executions, key=expected)
            self.running[name] += 1
            return name, SANITIZED_OF * self.sanitized[name] <= self.executions[name]

    def end(self, name: str, is_sanitized: bool, executions: int, seconds: float) -> None:
        """Writes down what was found: a run that is broken off loses nothing."""
        with self.lock:
            self.running[name] -= 1
            self.executions[name] += executions
            self.all_runs[name] += executions
            if is_sanitized:
                self.sanitized[name] += executions
                self.all_sanitized[name] += executions
            self.seconds[name] += seconds
            noted = {"since": self.since, "executions": self.all_runs, "with AddressSanitizer": self.all_sanitized}
            new = self.file.with_suffix(".new")
            new.write_text(json.dumps(noted, indent=1) + "\n")
            new.replace(self.file)

    def figure(self) -> str:
        fewest, least = min(self.all_runs.items(), key=lambda item: item[1])
        return (
            f"{len(self.all_runs)} fuzzers, {sum(self.all_runs.values()):,} executions since {self.since}, "
            f"{sum(self.all_sanitized.values()):,} of them with AddressSanitizer, the fewest {least:,} of {fewest}, "
            f"{sum(self.executions.values()):,} in the last run, no crash"
        )


def run(options: argparse.Namespace, program: pathlib.Path, number: int, seconds: int) -> tuple[int, str]:
    """Runs a fuzzer once: its executions, and what it printed if it failed."""
    name = program.name
    corpus, artifacts = options.folder / "corpus" / name, options.folder / "artifacts" / name
    artifacts.mkdir(parents=True, exist_ok=True)
    command = [program, corpus, f"-artifact_prefix={artifacts}/", f"-max_len={MOST_BYTES}"]
    # The schedule by entropy takes a third of the time of a short function.
    command += ["-print_final_stats=1", "-entropic=0", f"-max_total_time={seconds}"]
    # libFuzzer's limit of memory is a thread, and a search for leaks at that moment finds what belongs to the thread.
    # So a program with AddressSanitizer limits each allocation, and its peak is looked at when it has ended.
    is_sanitized = program.parent == options.programs
    command += ["-rss_limit_mb=0", f"-malloc_limit_mb={MOST_MB}"] if is_sanitized else [f"-rss_limit_mb={MOST_MB}"]
    command += [f"-seed={time.time_ns() % 2**31 + number}"]
    dictionary = options.folder / "dictionaries" / f"{name}.txt"
    command += [f"-dict={dictionary}"] if dictionary.is_file() else []
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds + PATIENCE_S, env=os.environ | SANITIZER
        )
    except subprocess.TimeoutExpired as late:
        return 0, f"hung: no end within {seconds + PATIENCE_S} s\n{late.stderr}"
    lines = done.stderr.splitlines()
    figures = dict(line.split()[:2] for line in lines if line.startswith("stat::"))
    # The first look at the corpus, which each run repeats, counts for nothing: `#1234 INITED cov: …`.
    known = [line.split()[0].lstrip("#") for line in lines if line.startswith("#") and line.split()[1:2] == ["INITED"]]
    if done.returncode or not (figures and known):
        return 0, f"exit status {done.returncode}\n{done.stderr[-8000:]}"
    if int(figures["stat::peak_rss_mb:"]) > MOST_MB:
        return 0, f"more than {MOST_MB} MB of memory\n{done.stderr[-8000:]}"
    return int(figures["stat::number_of_executed_units:"]) - int(known[0]), ""


def main() -> int:
    options = arguments()
    processors = len(os.sched_getaffinity(0))
    programs = Programs(options.names, options.folder / EXECUTIONS)
    failed, numbers = threading.Event(), itertools.count()
    each_s = 60 * options.minutes
    end = time.monotonic() + each_s * max(1, len(options.names) / processors)

    def work() -> None:
        while not failed.is_set():
            number, start = next(numbers), time.monotonic()
            # The first ones are each program once, however long that takes.
            if number >= len(options.names) and start > end - 1:
                return
            slot_s = round(max(1, min(SLOT_S, each_s, end - start)))
            name, is_sanitized = programs.start(slot_s)
            folder = options.programs if is_sanitized else options.plain
            found, trouble = run(options, folder / name, number, slot_s)
            programs.end(name, is_sanitized, found, time.monotonic() - start)
            if trouble:
                failed.set()
            # One call: those of several threads mix.
            build = "with AddressSanitizer" if is_sanitized else "plain"
            print(f"{number + 1} {name}, {build}: {trouble or f'{found:,} executions'}\n", end="", flush=True)

    def work_or_end_all() -> None:
        try:
            work()
        except BaseException:
            failed.set()
            raise

    with concurrent.futures.ThreadPoolExecutor(processors) as pool:
        for worker in [pool.submit(work_or_end_all) for _ in range(processors)]:
            worker.result()
    for name, found in programs.executions.items():
        print(f"{name}: {found:,} executions in {programs.seconds[name] / 60:.1f} min of a processor")
    if failed.is_set():
        return 1
    print(programs.figure())
    if path := os.environ.get("USM_TEST_FIGURES"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{programs.figure()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
