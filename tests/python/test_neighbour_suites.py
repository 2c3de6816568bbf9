"""The tests that dpctl and dpnp install, on this package."""

from support.neighbours import Suite

KERNELS = "kernels are in the Rust crates, not in this package"
SUITES = {
    "dpctl": Suite(
        package="dpctl.tests",
        renamed={r"\bdpctl\b": "usm"},
        conftest=True,
        outside={
            "test_headers.py": "files for C++ compilers",
            "test_raw_kernel_arg.py": KERNELS,
            "test_service.py": "compiler flags and files for C++ compilers",
            "test_sycl_kernel_submit.py": KERNELS,
            "test_sycl_program.py": KERNELS,
            "test_sycl_queue_manager.py": "a private cache of queues",
            "test_utils.py": "dpctl.utils",
            "test_work_group_memory*.py": KERNELS,
        },
        fails={},
    ),
    "dpnp.tensor": Suite(
        package="dpnp.tests.tensor",
        renamed={r"\bdpctl\b": "usm", r"\bdpnp\.tensor\b": "usm.tensor"},
        outside={
            "elementwise/*": "element-wise functions",
            "test_tensor_accumulation.py": "cumulative sums",
            "test_tensor_clip.py": "element-wise functions",
            "test_tensor_diff.py": "arithmetic",
            "test_tensor_statistical_functions.py": "statistics",
            "test_tensor_sum.py": "arithmetic",
            "test_usm_ndarray_linalg.py": "linear algebra",
            "test_usm_ndarray_reductions.py": "arithmetic",
            "test_usm_ndarray_searchsorted.py": "sorting",
            "test_usm_ndarray_sorting.py": "sorting",
            "test_usm_ndarray_top_k.py": "sorting",
            "test_usm_ndarray_unique.py": "sorting",
        },
        fails={},
    ),
}
