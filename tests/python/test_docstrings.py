"""Docstrings of the package itself: every name has an example that runs with the documented result."""

import doctest

import pytest

import usm

NAMES = [name for name in usm.__all__ if name not in ("memory", "tensor") and not name.endswith("Error")]


@pytest.mark.parametrize("name", NAMES)
def test_examples(name):
    text = getattr(usm, name).__doc__
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert test.examples, "no example"
    told = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert outcome.failed == 0, "".join(told)
