"""The type stubs against the native module, with mypy when it is installed."""

import pathlib
import subprocess
import sys
from importlib.util import find_spec

import pytest

import usm

from support import requirements

pytestmark = pytest.mark.indifferent

PACKAGE = pathlib.Path(usm.__file__).parent
ALLOWED = pathlib.Path(__file__).parent / "stubtest.allow"

USE = """
import usm
import usm.memory as um
import usm.tensor as ut

memory = um.MemoryUSMShared(64, alignment=64, queue="host:cpu:0")
a = ut.usm_ndarray((2, 3), dtype="f4", buffer=memory)
b: ut.USMArray = a[::-1, None, ..., 0].T
b[0] = 1.5
b[...] = a[0]
with memoryview(memory) as view:
    size: int = view.nbytes
queue = usm.SyclQueue(a.sycl_queue._get_capsule(), property="in_order")
ut.asarray(um.as_usm_memory(a), usm_type="device", sycl_queue=queue)
ut.asarray(bytearray(3))
part: um.MemoryUSMShared = memory[2:8]
class Named(um.MemoryUSMHost):
    label = "mine"
named: Named = Named(3)
with um.use_pool("host:cpu:0", limit_bytes=1 << 20) as pool:
    held: int = pool.stats()["slab_bytes"]
tags: list[str | None] = [row.tag for row in um.snapshot()]
owned: int = um.memory_stats()["shared"]["owned_bytes"]
writable: bool = ut.empty(3, usm_type="host", device=a.device).flags.writable
offset: int = a.__sycl_usm_array_interface__["offset"]
reason: str | None = usm.backends()[0]["reason"]
version: str = usm.__version__
c: ut.usm_ndarray = 2 * (b + 1) @ b.T - ut.sin(a) / 3.0
c += 1
total: float = float(ut.sum(c).item().real)
kind: str = c.dtype.kind
values, counts = ut.unique_counts(c.ravel())
inverse: ut.usm_ndarray = ut.linalg.inv(c)
spectrum: ut.usm_ndarray = ut.fft.fft(c, norm="ortho")
with ut.use_provider("numpy"):
    mean: ut.usm_ndarray = c.mean(axis=0)
"""

MISUSE = [
    'um.MemoryUSMHost("10")',
    "um.MemoryUSMHost(10)[3]",
    "um.use_pool(max_retained_bytes='1')",
    "um.snapshot()[0].tag = 'x'",
    'ut.empty(3, usm_type="gpu")',
    'ut.usm_ndarray((2,), order="K")',
    "usm.SyclQueue(3)",
    "usm.SyclDevice().name = 'x'",
    "ut.asarray(object())",
    "usm.SyclQueue().wait(1)",
    "ut.zeroes(3)",
    "ut.zeros(3) + 'a'",
    "ut.std(ut.zeros(3), ddof=1)",
    'ut.fft.fft(ut.zeros(3), norm="none")',
]


@pytest.fixture(autouse=True)
def mypy():
    return requirements.module("mypy", required=False)


def run(tool, *arguments, cwd):
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments], cwd=cwd, capture_output=True, text=True, timeout=100, check=False
    )
    return done.returncode, done.stdout + done.stderr


# Parts of the package that cannot be imported without a library.
PARTS = {"dpnp": r"usm\.compute\._dpnp", "zarr": r"usm\.zarr(\..*)?"}


def test_stubs_match_the_native_module(tmp_path):
    missing = tmp_path / "missing"
    missing.write_text("\n".join(part for library, part in PARTS.items() if find_spec(library) is None))
    allowed = ["--allowlist", str(ALLOWED), "--allowlist", str(missing), "--ignore-unused-allowlist"]
    code, output = run("mypy.stubtest", "usm", *allowed, cwd=tmp_path)
    assert code == 0, output


def test_the_package_is_strictly_typed(tmp_path):
    code, output = run("mypy", "--strict", "-p", "usm", cwd=tmp_path)
    assert code == 0, output


def test_use_is_accepted_and_misuse_is_found(tmp_path):
    lines = ["import usm", "import usm.memory as um", "import usm.tensor as ut", *MISUSE]
    (tmp_path / "misuse.py").write_text("\n".join(lines) + "\n")
    (tmp_path / "use.py").write_text(USE)
    _, output = run(
        "mypy", "--strict", "misuse.py", "use.py", str(pathlib.Path(__file__).with_name("typed_use.py")), cwd=tmp_path
    )
    errors = [line for line in output.splitlines() if ": error" in line]
    assert all(line.startswith("misuse.py:") for line in errors) and "in 1 file (checked 3 source files)" in output, (
        output
    )
    for number, line in enumerate(lines, start=1):
        assert (f"misuse.py:{number}: error" in output) == (line in MISUSE), f"{line}\n{output}"
