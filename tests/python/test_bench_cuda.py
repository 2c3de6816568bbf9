"""The comparison on a CUDA device: each case runs and is checked, here with few elements, as `--smoke` does."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from support import requirements

requirements.needed("numpy", required=requirements.REQUIRE_CUDA)

ROOT = Path(__file__).resolve().parents[2] / "crates/usm-bench"
CASES, COMPARISON = ROOT / "python/cases", ROOT / "python/compare"
# Whether they are installed does not matter here.
PEERS = {"CuPy", "PyTorch", "usm with CuPy", "usm with PyTorch"}

pytestmark = [pytest.mark.indifferent, pytest.mark.lengthy]


def run(*arguments, **variables):
    environment = os.environ | {"PYTHONPATH": str(CASES), **variables}
    return subprocess.run([sys.executable, "-B", *map(str, arguments)], env=environment, capture_output=True, text=True)


def printed(program):
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def names(smoke):
    modules = ["device_copies", "device_calls", "device_compute", "device_processes"]
    cases = ", ".join(f"*{module}.cases({smoke})" for module in modules)
    program = f"import {', '.join(modules)}, json\nprint(json.dumps([case.name for case in [{cases}]]))"
    return json.loads(printed(program))


def test_goals_are_about_cases_that_there_are():
    found = names(smoke=False)
    assert len(set(found)) == len(found) and found == names(smoke=True)
    goals = tomllib.loads((ROOT / "goals-cuda.toml").read_text())
    assert {case for goal in goals["goal"] for case in goal["cases"]} <= set(found)
    for growth in goals["growth"]:
        assert {f"{one}/{growth[end]}" for one in growth["series"] for end in ("from", "to")} <= set(found)


def test_the_order_is_a_permutation_that_scatters():
    program = """
import device_sides, numpy
for count in (1, 2, 3, 1000, 4096, 1 << 16):
    found = device_sides.order(count)
    assert sorted(found.tolist()) == list(range(count)), count
assert (abs(numpy.diff(found)) < 64).mean() < 0.02
"""
    printed(program)


def test_every_case_runs_with_the_right_result(cuda_queue, tmp_path):
    done = run(COMPARISON, "--device", "cuda", "--smoke", "--python", sys.executable, "--folder", tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert len(report["cases"]) == len(names(smoke=True)) and report["smoke"]
    for case in report["cases"]:
        reasons = {one["name"]: one["missing"] for one in case["contenders"] if one["name"] not in PEERS}
        if find_spec("ml_dtypes") is None and "ml_dtypes" in str(reasons.get("usm")):
            continue  # what the results of these casts are compared with
        assert (reasons or case["name"].startswith("compute/")) and set(reasons.values()) <= {None}, case["name"]


@pytest.mark.parametrize("of_reference", ["o[...] = v + 1", "o[0] = 5"])
def test_a_wrong_result_is_not_timed(cuda_queue, of_reference):
    program = f"""
import device_case, device_sides
a = device_sides.Array((40, 24), "f4")
o = device_sides.Array((24, 40), "f4")
work = device_case.Work({{"a": a, "o": o}}, "o[...] = v", views={{"v": "a.T"}}, cupy={of_reference!r})
try:
    device_case.contender(work, device_sides.Usm, device_case.by_events).set_up()
except device_case.WrongResultError as error:
    print(error)
"""
    assert printed(program) == "the result differs from NumPy's"


def test_without_a_device_the_comparison_says_so(tmp_path):
    done = run(
        COMPARISON, "--device", "cuda", "--smoke", "--python", sys.executable, "--folder", tmp_path, USM_CUDA="0"
    )
    assert done.returncode == 1 and "error: a CUDA device is required: " in done.stderr
    assert not list(tmp_path.iterdir())
