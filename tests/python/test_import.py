"""The absence of side effects of `import usm`, and the contents of the installed package."""

import ast
import importlib
import importlib.metadata
import os
import pathlib
import re

import pytest

import usm

from support import process

PACKAGE = pathlib.Path(usm.__file__).parent


def test_it_loads_neither_numpy_nor_sycl():
    out = process.check("""
        import os, sys
        import usm, usm.memory, usm.tensor
        heavy = {"numpy", "dpctl", "dpnp", "multiprocessing", "dask", "distributed"}
        heavy |= {"importlib.metadata", "ctypes", "json", "argparse"}
        print(sorted(heavy & set(sys.modules)))
        loaded = {os.path.basename(line.split()[-1]) for line in open("/proc/self/maps")}
        print([name for name in loaded if name.startswith(("libsycl", "libDPCTL", "libOpenCL", "libintelocl"))])
    """)
    assert out == "[]\n[]\n"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("sys.implementation.name = 'pypy'", "found pypy 3."),
        ("sys.version += ' free-threading build'", r"\(free-threaded\)"),
    ],
)
def test_other_pythons_are_refused_in_a_sentence(change, found):
    done = process.run(f"import sys; {change}; import usm")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert re.match(f"ImportError: usm needs CPython 3.11 or newer .*{found}", last), done.stderr


def test_the_host_backend_alone_does_not_import_numpy():
    out = process.check("""
        import sys
        import usm, usm.tensor as ut
        a = ut.zeros((2, 2), dtype="f8", usm_type="device", sycl_queue=usm.SyclQueue("host:cpu:0"))
        a[::-1, 0] = 1.5
        assert a.tolist() == [[1.5, 0.0], [1.5, 0.0]]
        print("numpy" in sys.modules)
    """)
    assert out == "False\n"


def test_it_imports_hardly_anything_else():
    """So it is over soon; `cargo xtask bench` has the time."""
    out = process.check("""
        import sys
        before = set(sys.modules)
        import usm
        print(sorted(name for name in set(sys.modules) - before if name.split(".")[0] != "usm"))
    """)
    # The interpreter may have loaded these already.
    assert set(ast.literal_eval(out)) <= {"__future__", "math"}


@pytest.mark.parametrize("module", ["usm", "usm.ipc", "usm.memory", "usm.tensor"])
def test_public_names(module):
    found = importlib.import_module(module)
    assert found.__all__ == sorted(found.__all__)
    for name in found.__all__:
        assert getattr(found, name) is not None or name == "newaxis"
        assert name in dir(found)
    with pytest.raises(AttributeError, match="no_such_name"):
        found.no_such_name  # noqa: B018


def test_version():
    assert usm.__version__ == importlib.metadata.version("usm")
    assert "__version__" in dir(usm)


def test_no_required_dependency():
    for requirement in importlib.metadata.requires("usm") or []:
        assert "extra ==" in requirement
    metadata = importlib.metadata.metadata("usm")
    assert {"sycl", "sycl-cpu"} <= set(metadata.get_all("Provides-Extra"))


def test_files_of_the_package():
    for file in ("py.typed", "_usm.pyi", "__main__.py", "ipc.py", "memory.py", "tensor/__init__.py"):
        assert (PACKAGE / file).is_file(), file
    recorded = {str(file) for file in importlib.metadata.files("usm")}
    module = "_usm.pyd" if os.name == "nt" else "_usm.abi3.so"
    assert {"usm/py.typed", "usm/_usm.pyi", f"usm/{module}"} <= recorded
    wheel = importlib.metadata.distribution("usm").read_text("WHEEL")
    assert re.search(r"^Tag: cp311-abi3-", wheel, re.MULTILINE)


def test_the_stub_has_the_names_of_the_native_module():
    native = importlib.import_module("usm._usm")
    body = ast.parse((PACKAGE / "_usm.pyi").read_text()).body
    stubbed = {
        node.name
        for node in body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and not node.name.startswith("_")
        and not any(isinstance(d, ast.Name) and d.id == "type_check_only" for d in node.decorator_list)
    }
    assert stubbed == {name for name in dir(native) if not name.startswith("_")}


@pytest.mark.parametrize(
    "name",
    ["SyclDevice", "SyclContext", "SyclQueue", "MemoryUSMHost", "MemoryUSMDevice", "MemoryUSMShared", "usm_ndarray"],
)
def test_the_stub_has_the_members_of_each_class(name):
    classes = {n.name: n for n in ast.parse((PACKAGE / "_usm.pyi").read_text()).body if isinstance(n, ast.ClassDef)}

    def members(node):
        own = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in classes:
                own |= members(classes[base.id])
        return own

    native = getattr(importlib.import_module("usm._usm"), name)
    stubbed = members(classes[name])
    present = {n for n in vars(native) if not n.startswith("__")} | {"__sycl_usm_array_interface__"} & set(vars(native))
    assert present <= stubbed
    # Python before 3.12 has no name for the buffer protocol.
    for member in stubbed - {"__buffer__"}:
        assert hasattr(native, member), member
