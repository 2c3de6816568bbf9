"""Runs libFuzzer's programs for some minutes each, as many at once as there are processors, and tells the executions.

`cargo xtask verify fuzz` starts this program, here or on another machine. New inputs stay in the corpus. An input that
crashes lies in the folder `artifacts` beside the corpus, and is a failure.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

# Longer inputs say no more.
MOST_BYTES = 512
# The time that a program may need beyond its minutes, for its start and the first look at the corpus.
PATIENCE_S = 300


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=pathlib.Path, help="the folder of the built programs")
    parser.add_argument("folder", type=pathlib.Path, help="the folder with corpus, dictionaries and artifacts")
    parser.add_argument("names", nargs="+", help="the programs")
    parser.add_argument("--minutes", type=float, default=10)
    return parser.parse_args()


def run(options: argparse.Namespace, name: str, number: int) -> tuple[str, int, str]:
    """One process of a fuzzer: its name, its executions, and what it printed if it failed."""
    corpus, artifacts = options.folder / "corpus" / name, options.folder / "artifacts" / name
    artifacts.mkdir(parents=True, exist_ok=True)
    seconds = round(60 * options.minutes)
    command = [options.programs / name, corpus, f"-artifact_prefix={artifacts}/", f"-max_len={MOST_BYTES}"]
    # Processes of one fuzzer take over what the others found.
    command += ["-print_final_stats=1", f"-max_total_time={seconds}", f"-seed={time.time_ns() % 2**31 + number}"]
    dictionary = options.folder / "dictionaries" / f"{name}.txt"
    command += [f"-dict={dictionary}"] if dictionary.is_file() else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + PATIENCE_S)
    except subprocess.TimeoutExpired as late:
        return name, 0, f"hung: no end within {seconds + PATIENCE_S} s\n{late.stderr}"
    executed = [line for line in done.stderr.splitlines() if line.startswith("stat::number_of_executed_units:")]
    if done.returncode or not executed:
        return name, 0, f"exit status {done.returncode}\n{done.stderr[-8000:]}"
    return name, int(executed[0].split()[-1]), ""


def main() -> int:
    options = arguments()
    processors = len(os.sched_getaffinity(0))
    copies = max(1, processors // len(options.names))
    executions: collections.Counter[str] = collections.Counter()
    failed = False
    with concurrent.futures.ThreadPoolExecutor(processors) as pool:
        runs = [pool.submit(run, options, name, number) for name in options.names for number in range(copies)]
        for number, done in enumerate(concurrent.futures.as_completed(runs), 1):
            name, found, trouble = done.result()
            executions[name] += found
            failed |= bool(trouble)
            print(f"{number}/{len(runs)} {name}: {trouble or f'{found:,} executions'}", flush=True)
    if failed:
        return 1
    fewest, least = min(executions.items(), key=lambda item: item[1])
    figure = f"{len(executions)} fuzzers, {executions.total():,} executions, the fewest {least:,} of {fewest}, no crash"
    print(figure)
    if path := os.environ.get("USM_TEST_FIGURES"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{figure}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
