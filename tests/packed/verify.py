"""Runs packed campaigns: needs Python with pytest, and no compiler, checkout or network.

`cargo xtask verify --pack PART…` leaves an archive with this program. Unpack it elsewhere, run `python3 run.py`, and
bring the report back to `cargo xtask verify --take report.json`, which writes RELIABILITY.md. A part that fails is not
in the report.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAMS = FOLDER / "programs"
TESTS = FOLDER / "tests" / "python"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="the parts; without one, all of the archive")
    parser.add_argument("--minutes", type=float, help="minutes of each fuzzer, of load and of the storm of processes")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another length")
    parser.add_argument("--report", type=pathlib.Path, default=pathlib.Path("report.json"))
    return parser.parse_args()


def command(campaign: dict, minutes: float) -> list:
    """What runs the tests of a campaign."""
    names = campaign["names"]
    if campaign["tests"] == "program":
        return [*campaign["under"], PROGRAMS / names[0]]
    if campaign["tests"] == "fuzzers":
        runner = FOLDER / "tests" / "packed" / "fuzzers.py"
        programs = [PROGRAMS, PROGRAMS / "plain"]
        return [sys.executable, runner, *programs, FOLDER / "fuzz", *names, "--minutes", str(minutes)]
    options = ["-q", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=0", "-k", names[0]]
    # The comparison is no part of the package.
    options += ["--ignore-glob", str(TESTS / "test_bench_*.py")]
    return [sys.executable, "-m", "pytest", *options, TESTS]


def machine() -> str:
    """`16 × AMD EPYC, NVIDIA H200`."""
    facts = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in facts if line.startswith("model name")), "unknown")
    try:
        look = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        devices = subprocess.run(look, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        devices = []
    return ", ".join([f"{len(os.sched_getaffinity(0))} × {model}", *devices])


def run_part(campaigns: list, options: argparse.Namespace, environment: dict, minutes: float, where: str) -> dict:
    """Runs the campaigns of one part, and returns its row."""
    figures = pathlib.Path(where) / "figures.txt"
    figures.unlink(missing_ok=True)
    start = time.monotonic()
    for campaign in campaigns:
        print(f"==> {campaign['part']}: {campaign['step']}", flush=True)
        variables = dict(campaign["variables"])
        if campaign["minutes"] and options.minutes:
            variables[campaign["minutes"]] = f"{options.minutes:g}"
        variables |= dict(pair.split("=", 1) for pair in options.set)
        variables["USM_TEST_FIGURES"] = str(figures)
        subprocess.run(command(campaign, minutes), cwd=where, env=environment | variables, check=True)
    found = figures.read_text().splitlines() if figures.exists() else []
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"found": "; ".join(found) or "passed", "date": today, "took_s": time.monotonic() - start}


def main() -> int:
    options = arguments()
    plan = json.loads((FOLDER / "plan.json").read_text())
    minutes = options.minutes or plan["minutes_of_fuzzers"]
    rows, failed = [], []
    environment = os.environ | {"USM_REQUIRE_CUDA": "1", "USM_TEST_LIMIT_S": "0", "PYTHONSAFEPATH": "1"}
    with tempfile.TemporaryDirectory() as where:
        site = pathlib.Path(where) / "site"
        install = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", site, *FOLDER.glob("*.whl")]
        subprocess.run([sys.executable, *install], check=True)
        environment |= {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
        for part in dict.fromkeys(campaign["part"] for campaign in plan["campaigns"]):
            if options.parts and part not in options.parts:
                continue
            campaigns = [campaign for campaign in plan["campaigns"] if campaign["part"] == part]
            try:
                row = run_part(campaigns, options, environment, minutes, where)
            except subprocess.CalledProcessError as error:
                print(f"{part} failed: {error}", flush=True)
                failed.append(part)
                continue
            rows.append({"part": part, "commit": plan["commit"], "machine": machine()} | row)
            # What has passed stays, also when the rest is ended.
            options.report.write_text(json.dumps(rows, indent=1) + "\n")
            print(f"{part}: {row['found']}, {row['took_s']:.0f} s", flush=True)
    print("failed: " + ", ".join(failed) if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
