"""Docstrings of the functions of usm.tensor: every name has an example that runs with the documented result."""

import pytest

import usm.tensor as ut

from support import examples, requirements

WITH_NUMPY = {"asnumpy", "from_numpy", "to_numpy"}
NAMES = [name for name in ut.__all__ if type(getattr(ut, name)).__name__ == "builtin_function_or_method"]


@pytest.mark.parametrize("name", [*NAMES, "Device"])
def test_examples(name):
    if name in WITH_NUMPY:
        requirements.module("numpy", required=requirements.REQUIRE_SYCL)
    examples.run(getattr(ut, name), name)


def test_the_limits_and_the_namespace_have_examples():
    for kind in (type(ut.finfo("f4")), type(ut.iinfo("i4")), type(ut.__array_namespace_info__())):
        examples.run(kind, kind.__name__)
