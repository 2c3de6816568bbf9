"""Dask's own tests of a chunk type pass with our arrays in the place of CuPy's, but for those listed here."""

from pathlib import Path

import pytest

from support import requirements
from support.peer_suites import Suite, found, outcomes, surprises

requirements.needed("dask", required=requirements.REQUIRE_SYCL)
pytestmark = pytest.mark.skipif(not requirements.REQUIRE_DASK, reason="it takes long: cargo xtask verify dask runs it")

DASK = Suite(
    package="dask.array.tests",
    renamed={
        r'importorskip\("cupy"\)': 'importorskip("support.dask_names")',
        r'"cupy"': '"usm"',
        r"dask\.array\.backends\.register_cupy\(\)": "",
        # the method of arrays of CuPy for asnumpy
        r"\b(\w+)\.get\(\)": r"cupy.asnumpy(\1)",
    },
    only=("test_array_function.py", "test_cupy_*.py", "test_dispatch.py"),
    outside={"test_cupy_sparse.py": "sparse matrices of CuPy"},
    fails={
        "arrays of another library, pydata/sparse": ["test_array_function.py::test_array_function_sparse[*]"],
        "dask computes its array for `like=` where the chunks are CuPy's by name, else NumPy reads them": [
            "test_cupy_core.py::test_asanyarray[like1-arr3]",
        ],
        "dask makes an empty diagonal with NumPy": ["test_cupy_creation.py::test_diagonal"],
        "dask calls SciPy, which reads host memory": [
            "test_cupy_linalg.py::test_cholesky[*]",
            "test_cupy_linalg.py::test_lstsq[*]",
        ],
        "`Generator` of dask needs a module of the package with generators; `RandomState` gives arrays of ours": [
            "test_cupy_percentile.py::test_percentiles_with_unknown_chunk_sizes",
            "test_cupy_random.py::test_cupy_unsupported",
            "test_cupy_random.py::test_random_all_Generator[*-None-usm]",
            "test_cupy_random.py::test_random_all_Generator[*-_Generator-*]",
            "test_cupy_random.py::test_random_shapes[*]",
        ],
    },
)


def test_suite(tmp_path: Path) -> None:
    installed = found(DASK.package)
    assert installed is not None, "dask is installed without its tests"
    told = outcomes(DASK, installed, tmp_path)
    assert surprises(DASK, told) == []
    passed = sum(outcome == "passed" for outcome, _ in told.values())
    assert passed >= 480, f"{passed} tests passed, of {len(told)}"
