"""The examples in the docstrings of `usm_ndarray` and its companions run, and each public name has one."""

import pytest

import usm.tensor as ut

from support import examples, requirements

# A library computes them.
COMPUTED = set("argmax argmin argsort clip cumprod cumsum dot mean prod round sort std var".split())

METHODS = [
    getattr(of, name)
    for of in (ut.usm_ndarray, ut.Device)
    for name in dir(of)
    if not name.startswith("_") and callable(getattr(of, name))
]
CLASSES = [ut.usm_ndarray, ut.Device, ut.DType, type(ut.zeros(1).flags)]
FUNCTIONS = [ut.get_print_options, ut.print_options, ut.set_print_options, ut.usm_ndarray_repr, ut.usm_ndarray_str]


@pytest.mark.parametrize("obj", [*CLASSES, *METHODS, *FUNCTIONS], ids=lambda obj: obj.__qualname__)
def test_examples_run(obj):
    if obj.__name__ in COMPUTED:
        requirements.module("numpy", required=requirements.REQUIRE_SYCL)
    examples.run(obj, obj.__qualname__)


@pytest.mark.parametrize("name", [n for n in dir(ut.usm_ndarray) if not n.startswith("__")])
def test_every_attribute_is_explained(name):
    assert getattr(ut.usm_ndarray, name).__doc__
