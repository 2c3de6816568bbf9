"""Docstrings of the package itself: every name has an example that runs with the documented result."""

import pytest

import usm

from support import examples

MODULES = ("ipc", "memory", "program", "tensor")
NAMES = [name for name in usm.__all__ if name not in MODULES and not name.endswith("Error")]


@pytest.mark.parametrize("name", NAMES)
def test_examples(name):
    examples.run(getattr(usm, name), name)


@pytest.mark.parametrize("name", usm.ipc.__all__)
def test_examples_of_ipc(name):
    examples.run(getattr(usm.ipc, name), name)
