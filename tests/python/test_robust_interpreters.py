"""Sub-interpreters: a clear ImportError, and the main interpreter goes on."""

import importlib

import pytest

from support import children

MODULE = next((name for name in ("_interpreters", "_xxsubinterpreters") if importlib.util.find_spec(name)), None)

RUN = f"""
import {MODULE} as interpreters
CODE = "import sys\\nsys.path = " + repr(sys.path) + '''
try:
    import usm
except ImportError as error:
    # From 3.12 on CPython itself says so before our module is asked.
    assert "sub-interpreter" in str(error) or "subinterpreter" in str(error), error
else:
    raise AssertionError("imported")
assert "usm._usm" not in sys.modules
'''

def in_sub_interpreter():
    id = interpreters.create()
    failed = interpreters.run_string(id, CODE)
    assert failed is None, failed
    interpreters.destroy(id)
"""

pytestmark = pytest.mark.skipif(MODULE is None, reason="this Python has no module for sub-interpreters")


@pytest.mark.parametrize("backend", ["host", "sycl"])
def test_import_is_refused(backend):
    children.run(
        backend,
        RUN
        + """
a = array(10)
for _ in range(3):
    in_sub_interpreter()
    a[...] = 1
    assert a.tolist() == [1.0] * 10
""",
    )


def test_import_is_refused_before_the_main_interpreter_imports(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        + RUN
        + "in_sub_interpreter()\nimport usm.tensor as ut\nassert ut.zeros(3).tolist() == [0, 0, 0]\n"
    )
    done = children.subprocess.run(
        [children.sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
