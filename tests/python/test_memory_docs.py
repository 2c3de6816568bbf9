"""The examples in the docstrings of `usm.memory` run, and each public name has one."""

import pytest

import usm.memory as um

from support import examples

# Attributes are shown in the example of their class.
METHODS = [
    getattr(of, name)
    for of in (um.MemoryUSMHost, um.MemoryPool, um.MemorySnapshot, um.LiveMemory)
    for name in dir(of)
    if not name.startswith("_") and callable(getattr(of, name))
]
NAMES = [getattr(um, name) for name in um.__all__ if name != "USMAllocationError"]


@pytest.mark.parametrize("obj", [*NAMES, *METHODS], ids=lambda obj: getattr(obj, "__qualname__", repr(obj)))
def test_examples_run(obj):
    examples.run(obj, obj.__qualname__)
