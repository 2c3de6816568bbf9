"""Docstrings of the package itself: every name has an example that runs with the documented result."""

import pytest

import usm

from support import examples

NAMES = [name for name in usm.__all__ if name not in ("memory", "program", "tensor") and not name.endswith("Error")]


@pytest.mark.parametrize("name", NAMES)
def test_examples(name):
    examples.run(getattr(usm, name), name)
