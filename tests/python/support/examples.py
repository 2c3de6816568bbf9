"""The examples in docstrings."""

import doctest
from typing import Any


def run(obj: Any, name: str) -> None:
    """Fails unless the docstring has examples and all of them are true."""
    test = doctest.DocTestParser().get_doctest(obj.__doc__, {}, name, None, 0)
    assert test.examples, f"{name} has no example"
    told: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert outcome.failed == 0, "".join(told)
