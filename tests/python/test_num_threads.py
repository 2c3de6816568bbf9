"""The number of threads of a copy."""

import os
import subprocess
import sys

import pytest

import usm
import usm.tensor as ut


@pytest.fixture(autouse=True)
def restored():
    yield
    usm.set_num_threads(0)


def in_child(**environment):
    code = "import usm; print(usm.get_num_threads())"
    environment = os.environ | environment
    return int(subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True).stdout)


def test_the_default_is_all_processors():
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert usm.get_num_threads() == in_child() == usable or "USM_NUM_THREADS" in os.environ


def test_the_limit_is_kept():
    most = usm.get_num_threads()
    for limit in (1, 2, 1 << 40):
        usm.set_num_threads(limit)
        assert usm.get_num_threads() == min(limit, most)
    usm.set_num_threads(0)
    assert usm.get_num_threads() == most


def test_the_environment_variable_is_kept():
    assert in_child(USM_NUM_THREADS="1") == 1
    assert in_child(USM_NUM_THREADS="3") == 3


@pytest.mark.parametrize("other", ["", "0", "-1", "many"])
def test_other_values_of_the_variable_are_no_limit(other):
    assert in_child(USM_NUM_THREADS=other) == in_child(USM_NUM_THREADS="0")


@pytest.mark.parametrize("wrong", [1.5, "2", None, True])
def test_other_things_are_refused(wrong):
    with pytest.raises(TypeError, match="limit"):
        usm.set_num_threads(wrong)


def test_negative_numbers_are_refused():
    most = usm.get_num_threads()
    with pytest.raises(ValueError, match="limit"):
        usm.set_num_threads(-1)
    assert usm.get_num_threads() == most


@pytest.mark.parametrize("limit", [1, 2, 0])
def test_results_do_not_depend_on_it(queue, usm_type, limit):
    usm.set_num_threads(limit)
    a = ut.reshape(ut.arange(3 << 20, dtype="u4", usm_type=usm_type, sycl_queue=queue), (3, 1 << 20))
    columns = a.T.copy()
    assert columns[12345, 2].item() == 12345 + (2 << 20)
    assert ut.all(columns.T == a)
