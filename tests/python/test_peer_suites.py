"""The tests that dpctl and dpnp install pass on this package after the change of imports, but for those listed here."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from operator import eq
from pathlib import Path

import pytest

import usm.tensor as ut

from support import requirements
from support.peer_suites import Suite, found, matches, outcomes, surprises

KERNELS = "neither raw arguments nor work-group memory"
POINTERS = "pointers leave in capsules only; Cython code finds memory by its interface"
PRIVATE = "a private name of dpnp"
DIFFERENT = "on purpose: a table of the README has it"
MORE = "more is accepted here"
OTHER_ERROR = "another built-in exception, with the same meaning and the name of the argument"
HOST_DEVICE = "loops over all devices, which the host device is one of here, as if they were SYCL's"

INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
NUMBERS = ("b1", *INTEGERS, "f2", "f4", "f8", "c8", "c16")


def pairs(test: str, dtypes: tuple[str, ...], passes: Callable[[str, str], bool]) -> list[str]:
    """The tests of a matrix of dtypes, except for the pairs that pass."""
    return [f"{test}[{a}-{b}]" for a, b in product(dtypes, repeat=2) if not passes(a, b)]


def holds(a: str, b: str) -> bool:
    """Whether elements of the first dtype hold all values of the second."""
    return ut.can_cast(b, a)


DPCTL = Suite(
    package="dpctl.tests",
    renamed={r"\bdpctl\b": "usm"},
    conftest=True,
    outside={
        "test_headers.py": "files for C++ compilers",
        "test_raw_kernel_arg.py": KERNELS,
        "test_service.py": "flags and files for C++ compilers",
        "test_sycl_kernel_submit.py": "imports private modules of dpctl",
        "test_sycl_queue_manager.py": "a private cache of queues",
        "test_utils.py": "dpctl.utils",
        "test_work_group_memory*.py": KERNELS,
    },
    fails={
        POINTERS: [
            "test_sycl_context.py::test_address_of",
            "test_sycl_*.py::test_cpython_api*",
            "test_sycl_event.py::test_addressof_ref",
            "test_sycl_program.py::test_create_program_from_source_ocl",
            "test_sycl_program.py::test_create_program_from_spirv_ocl",
            "test_sycl_queue.py::test_cython_api",
        ],
        "the C interface does not tell an event's context": [
            "test_sycl_event.py::test_create_event_from_capsule",
            "test_sycl_event.py::test_event_capsule",
        ],
        "needs dpctl.utils.SequentialOrderManager": [
            "test_sycl_timer.py::test_sycl_timer_accumulation",
            "test_sycl_timer.py::test_sycl_timer_order_manager",
        ],
        DIFFERENT: [
            # SyclQueue(context) without a device
            "test_sycl_queue.py::test_constructor_many_arg",
        ],
    },
    either={
        "looks for a word in pickled memory, in which anything may be": [
            "test_sycl_usm.py::test_pickling_reconstructor_invalid_type*",
        ],
    },
)

# The files of dpnp about functions that providers compute.
COMPUTE = (
    "elementwise/*",
    "test_tensor_accumulation.py",
    "test_tensor_clip.py",
    "test_tensor_diff.py",
    "test_tensor_isin.py",
    "test_tensor_statistical_functions.py",
    "test_tensor_sum.py",
    "test_usm_ndarray_linalg.py",
    "test_usm_ndarray_reductions.py",
    "test_usm_ndarray_searchsorted.py",
    "test_usm_ndarray_sorting.py",
    "test_usm_ndarray_top_k.py",
    "test_usm_ndarray_unique.py",
)

DPNP = Suite(
    package="dpnp.tests.tensor",
    renamed={r"\bdpctl\b": "usm", r"\bdpnp\.tensor\b": "usm.tensor"},
    outside=dict.fromkeys(COMPUTE, "about arithmetic: a suite of its own"),
    fails={
        PRIVATE: [
            "test_tensor_array_api_inspection.py::test_array_api_inspection_default_dtypes",
            "test_tensor_copy_utils.py::*orderK*",
            "test_usm_ndarray_ctor.py::test_array_namespace",
            "test_usm_ndarray_ctor.py::test_pyx_capi_check_constants",
            "test_usm_ndarray_dlpack.py::test_dlpack_deleters",
            "test_usm_ndarray_dlpack.py::test_dlpack_capsule_readonly_array_to_kdlcpu",
            "test_usm_ndarray_dlpack.py::test_dlpack_dl_device",
            "test_usm_ndarray_dlpack.py::test_dlpack_kwargs",
            "test_usm_ndarray_dlpack.py::test_dlpack_size_0*",
            "test_usm_ndarray_dlpack.py::test_from_dlpack_input_validation",
            "test_usm_ndarray_dlpack.py::test_legacy_dlpack_capsule*",
            "test_usm_ndarray_dlpack.py::test_to_dlpack_*capsule_c_and_f_contig",
            "test_usm_ndarray_dlpack.py::test_used_dlpack_capsule*",
            "test_usm_ndarray_dlpack.py::test_versioned_dlpack_capsule",
            "test_usm_ndarray_indexing.py::test__copy_utils",
            "test_usm_ndarray_indexing.py::test_getitem_impl_fn_invalid_inp",
            "test_usm_ndarray_indexing.py::test_nonzero_dtype",
            "test_usm_ndarray_operators.py::test_*_ops*",
            "test_usm_ndarray_search_functions.py::test_where_result_types*",
        ],
        "`allclose` adds the two tolerances, as in NumPy": ["test_tensor_testing.py::test_allclose_tolerance"],
        HOST_DEVICE: [
            "test_usm_ndarray_dlpack.py::test_copy_via_host",
            "test_usm_ndarray_dlpack.py::test_dlpack_device*",
            "test_usm_ndarray_dlpack.py::test_sycl_device_to_dldevice",
        ],
        MORE: [
            # a context where a queue is asked for
            "test_tensor_asarray.py::test_asarray_input_validation",
            # a Python number type as a kind
            "test_tensor_dtype_routines.py::test_isdtype_invalid_kind[float]",
            # numbers beside arrays
            "test_tensor_testing.py::test_allclose_validation",
            # repeats of nothing, and no array at all
            "test_usm_ndarray_indexing.py::test_put_empty_axes",
            "test_usm_ndarray_manipulation.py::test_broadcast_arrays_no_args",
            # lists as indices along an axis
            "test_usm_ndarray_indexing.py::test_put_along_axis_validation",
            "test_usm_ndarray_indexing.py::test_take_along_axis_validation",
        ],
        OTHER_ERROR: [
            "test_usm_ndarray_ctor.py::test_ctor_buffer_kwarg",
            "test_usm_ndarray_ctor.py::test_ctor_invalid",
            "test_usm_ndarray_ctor.py::test_empty_unexpected_data_type",
            "test_usm_ndarray_ctor.py::test_reshape_copy_kwrd",
            "test_usm_ndarray_dlpack.py::test_dlpack_max_version_validation",
            "test_usm_ndarray_manipulation.py::test_concat_incorrect_type",
            "test_usm_ndarray_manipulation.py::test_moveaxis_errors",
            "test_usm_ndarray_manipulation.py::test_repeat_arg_validation",
            "test_usm_ndarray_manipulation.py::test_roll_validation",
            "test_usm_ndarray_search_functions.py::test_where_arg_validation",
        ],
        DIFFERENT: [
            "test_tensor_array_api_inspection.py::test_array_api_inspection_capabilities",
            # a tuple, as the standard has it
            "test_tensor_array_api_inspection.py::test_array_api_inspection_devices",
            # usm_data is another object each time
            "test_tensor_asarray.py::test_asarray_support_for_usm_ndarray_protocol*",
            "test_usm_ndarray_ctor.py::test_astype",
            "test_usm_ndarray_ctor.py::test_reshape_noop",
            # numbers of one element with axes, and of real numbers as indices
            "test_usm_ndarray_ctor.py::TestCopyScalar::test_copy_scalar_with_*-shape1]",
            "test_usm_ndarray_ctor.py::TestCopyScalar::test_copy_scalar_with_*-shape2]",
            "test_usm_ndarray_ctor.py::TestCopyScalar::test_copy_scalar_with_*-shape3]",
            "test_usm_ndarray_ctor.py::test_index_noninteger",
            # an imaginary part is not dropped from a number
            "test_usm_ndarray_ctor.py::test_full_dtype_inference",
            # ranges
            "test_usm_ndarray_ctor.py::test_arange_bool",
            "test_usm_ndarray_ctor.py::test_arange_mixed_types",
            "test_usm_ndarray_ctor.py::test_linspace[b1]",
            "test_usm_ndarray_ctor.py::test_tril[i1]",
            "test_usm_ndarray_ctor.py::test_tril[u1]",
            # read-only cannot be lifted; the shape does not change; T has no limit
            "test_usm_ndarray_ctor.py::test_properties[*]",
            "test_usm_ndarray_ctor.py::test_shape_setter",
            "test_usm_ndarray_ctor.py::test_usm_ndarray_flags",
            "test_usm_ndarray_ctor.py::test_usm_ndarray_writable_flag_views",
            # strides that nobody sees, and memory orders
            "test_usm_ndarray_ctor.py::test_array_like_ctors_order_K",
            "test_usm_ndarray_ctor.py::test_basic_slice[ind7]",
            "test_usm_ndarray_ctor.py::test_tri*_order_k[*-F]",
            "test_usm_ndarray_search_functions.py::test_where_order",
            "test_usm_ndarray_ctor.py::test_meshgrid",
            # what host code gets is an array of this package
            "test_usm_ndarray_dlpack.py::test_from_dlpack_kdlcpu_interop_numpy",
            "test_usm_ndarray_dlpack.py::test_from_dlpack_to_kdlcpu[*]",
            "test_usm_ndarray_dlpack.py::test_generic_container*",
            # index arrays by NumPy's rules; mode="wrap" takes the remainder
            "test_usm_ndarray_indexing.py::test_*_indices_oob_py_ssize_t[wrap]",
            "test_usm_ndarray_indexing.py::test_TrueFalse_indexing",
            "test_usm_ndarray_indexing.py::test_advanced_indexing_compute_follows_data",
            "test_usm_ndarray_indexing.py::test_advanced_integer_indexing_cast_indices",
            "test_usm_ndarray_indexing.py::test_advanced_slice11",
            "test_usm_ndarray_indexing.py::test_advanced_slice15",
            "test_usm_ndarray_indexing.py::test_extract_arg_validation",
            "test_usm_ndarray_indexing.py::test_place_arg_validation",
            "test_usm_ndarray_indexing.py::test_put_0d_data*",
            "test_usm_ndarray_indexing.py::test_put_arg_validation",
            "test_usm_ndarray_indexing.py::test_take_0d_data*",
            "test_usm_ndarray_indexing.py::test_take_arg_validation",
            # axes and shifts
            "test_usm_ndarray_manipulation.py::test_roll_out_bounds_shifts",
            # where two parts of the text stand
            "test_usm_ndarray_print.py::TestPrintFns::test_print_repr_abbreviated",
            # numbers of ctypes
            "test_usm_ndarray_search_functions.py::test_where_python_scalar*",
            "test_usm_ndarray_search_functions.py::test_where_two_python_scalars",
        ],
    },
)


# The same tests with dpctl's own queues, contexts and devices: only its memory and dpnp's arrays are exchanged.
# What fails has the reasons of `DPNP`, but for the host device, which dpctl does not list.
BESIDE_DPCTL = replace(
    DPNP,
    renamed={r"\bdpctl\.memory\b": "usm.memory", r"\bdpnp\.tensor\b": "usm.tensor"},
    fails={
        **DPNP.fails,
        HOST_DEVICE: ["test_tensor_array_api_inspection.py::test_array_api_inspection_devices"],
    },
)

# The rest of the same tests, with NumPy as the provider.
DPNP_COMPUTE = Suite(
    package=DPNP.package,
    renamed={
        **DPNP.renamed,
        # Private helpers of dpnp, on devices with all dtypes.
        r"\b_tensor_elementwise_impl\b": "_tensor_impl",
        r"\b(tu\.)?_to_device_supported_dtype\(": "(lambda dtype, device: dtype)(",
        r"(?<![.\w])_can_cast\((.*), _fp16, _fp64": r"dpt.can_cast(\1",
        r"\bdefault_device_fp_type\(q\)": '"f8"',
        r"\bdefault_device_index_type\(q.sycl_device\)": '"i8"',
    },
    outside={},
    only=COMPUTE,
    fails={
        PRIVATE: [
            "elementwise/test_add.py::test_add_inplace_operator_errors",
            "elementwise/test_add.py::test_add_inplace_operator_mutual_broadcast",
            "elementwise/test_divide.py::test_divide_by_scalar_overflow*",
            "elementwise/test_elementwise_classes.py::test_*_class_getters",
            "elementwise/test_elementwise_classes.py::test_binary_no_inplace_op",
            "elementwise/test_type_utils.py::test_*_find_buf_dtype*",
            "elementwise/test_type_utils.py::test_*all_data_types",
            "elementwise/test_type_utils.py::test_*can_cast*",
            "elementwise/test_type_utils.py::test_acceptance_fns",
            "elementwise/test_type_utils.py::test_arg_validation",
            "elementwise/test_type_utils.py::test_maximal_inexact_types*",
            "elementwise/test_type_utils.py::test_type_utils_get_device_default_type",
            "elementwise/test_type_utils.py::test_weak_types",
            "test_tensor_clip.py::test_clip_minmax_weak_types*",
        ],
        "functions have no attributes `nin`, `nout` and `types`": [
            "elementwise/*_types_property",
            "elementwise/test_elementwise_classes.py::test_*_nin",
            "elementwise/test_elementwise_classes.py::test_*_nout",
        ],
        "`order=` and `dtype=` of `matmul` are not in the standard": [
            "test_usm_ndarray_linalg.py::test_matmul_*dtype",
            "test_usm_ndarray_linalg.py::test_matmul_*order",
            "test_usm_ndarray_linalg.py::test_matmul_type_promotion*",
        ],
        "`order=` of `clip` is not in the standard": [
            "test_tensor_clip.py::test_clip_order*",
            "test_tensor_clip.py::test_clip_none_order*",
        ],
        "`out` of `clip` is a keyword": ["test_tensor_clip.py::test_clip_dtype_error"],
        "`kind=` of `sort` and `argsort` is not in the standard": [
            "test_usm_ndarray_sorting.py::test_*sort_0d_array*",
            "test_usm_ndarray_sorting.py::test_*sort_axis*",
            "test_usm_ndarray_sorting.py::test_*sort_strided*",
            "test_usm_ndarray_sorting.py::test_*sort_validation_kind",
            "test_usm_ndarray_sorting.py::test_radix_*",
            "test_usm_ndarray_sorting.py::test_sort_real_fp_nan*",
        ],
        "`out` takes results of the same kind, other dtypes raise `TypeError`": [
            "elementwise/*_dtype_error*",
            "elementwise/*_error_dtype*",
            *(
                f"elementwise/*_inplace_dtype_matrix[{kinds}*]"
                for kinds in ("c*-b", "c*-f", "c*-i", "c*-u", "f*-b", "f*-i", "f*-u", "i*-?", "i*-b", "i*-u")
            ),
            *(f"elementwise/*_inplace_dtype_matrix[{kinds}*]" for kinds in ("u*-?", "u*-b", "u8-i")),
            *pairs("elementwise/test_add.py::test_add_inplace_dtype_matrix", NUMBERS, eq),
            *pairs("elementwise/test_bitwise_or.py::test_bitwise_or_inplace_dtype_matrix", ("?", *INTEGERS), holds),
            *pairs("elementwise/test_bitwise_right_shift.py::test_*_inplace_dtype_matrix", INTEGERS, eq),
            *pairs("elementwise/test_bitwise_xor.py::test_bitwise_xor_inplace_dtype_matrix", ("?", *INTEGERS), holds),
            "elementwise/test_divide.py::test_divide_inplace_dtype_matrix[b*]",
            "elementwise/test_divide.py::test_divide_inplace_dtype_matrix[i*]",
            "elementwise/test_divide.py::test_divide_inplace_dtype_matrix[u*]",
            *pairs("elementwise/test_divide.py::test_divide_inplace_dtype_matrix", NUMBERS, holds),
            "test_tensor_accumulation.py::test_accumulator_arg_validation",
            "test_usm_ndarray_linalg.py::test_matmul_out_errors",
        ],
        MORE: [
            # bounds of another dtype, except for complex bounds of real numbers, which raise TypeError
            *pairs("test_tensor_clip.py::test_clip_dtypes", ("?", *INTEGERS, *"efdFD"), ut.can_cast),
            "test_tensor_clip.py::test_clip_max_weak_type_errors",
            # variances of complex numbers
            "test_tensor_statistical_functions.py::test_stat_function_errors",
        ],
        OTHER_ERROR: [
            "elementwise/*_canary_mock_array",
            "elementwise/test_negative.py::test_negative_bool",
            "elementwise/test_subtract.py::test_subtract_bool",
            "elementwise/test_type_utils.py::test_binary_func_arg_validation",
            "test_tensor_clip.py::test_clip_arg_validation",
            "test_tensor_isin.py::test_isin_validation",
            "test_usm_ndarray_searchsorted.py::test_searchsorted_validation2",
        ],
        DIFFERENT: [
            # complex numbers have no order
            *(
                f"elementwise/test_{name}.py::test_{name}_{part}"
                for name in ("greater", "greater_equal", "less", "less_equal")
                for part in ("complex_*", "dtype_matrix[c*", "dtype_matrix[*-c*", "python_scalar*")
            ),
            "test_usm_ndarray_reductions.py::test_max_min_nan_propagation",
            "test_usm_ndarray_reductions.py::test_reduction_kernels[c*]",
            "test_usm_ndarray_sorting.py::test_*sort_1d[c*]",
            "test_usm_ndarray_sorting.py::test_sort_2d[c*]",
            # numbers of ctypes
            *(
                f"elementwise/*::test_{name}_python_scalar[*"
                for name in """
                add atan2 copysign divide equal floor_divide hypot logaddexp logical_and logical_or logical_xor
                maximum_minimum multiply nextafter not_equal pow remainder subtract
                """.split()
            ),
            "test_tensor_isin.py::test_isin_py_scalars*",
            # negative strides
            "elementwise/*_order",
            # real and imag are views; an imaginary part is not dropped from a number
            "elementwise/test_complex.py::test_complex_usm_type[*-real-*]",
            "elementwise/test_complex.py::test_complex_usm_type[*-imag-*]",
            *(f"elementwise/test_complex.py::test_complex_order[{kind}*" for kind in "fiu"),
            # ranges
            "elementwise/test_reciprocal.py::test_reciprocal_output_*[b1]",
            "test_tensor_accumulation.py::test_*_cumsum_*sint[dt0]",
            "test_usm_ndarray_searchsorted.py::test_searchsorted_*_bool",
        ],
        "`proj` of real numbers is real": [
            *(f"elementwise/test_complex.py::test_projection[{kind}*" for kind in "bfiu"),
        ],
        "`conj` of booleans is boolean": ["elementwise/test_complex.py::test_complex_out_type[b1]"],
        "`angle` has the dtype that NumPy gives it": [
            *(f"elementwise/test_angle.py::test_angle_out_type[{dtype}]" for dtype in ("b1", "i1", "u1", "f2")),
        ],
        "a sum has a numeric dtype": ["test_tensor_sum.py::test_gh_1944*"],
        "a cumulative result has an axis, as in NumPy": [
            "test_tensor_accumulation.py::test_accumulate_scalar",
            "test_tensor_accumulation.py::test_accumulator_out_kwarg",
        ],
        "a sorter out of bounds raises `ValueError`, as in NumPy": [
            "test_usm_ndarray_searchsorted.py::test_out_of_bound_sorter_values",
        ],
        "an unknown order raises `ValueError`": ["elementwise/test_type_utils.py::test_unary_func_arg_validation"],
        "NumPy gives other special values": [
            "elementwise/test_expm1.py::test_expm1_special_cases",
            "elementwise/test_floor_divide.py::test_floor_divide_special_cases",
            "elementwise/test_nextafter.py::test_nextafter_special_cases_zero[f2]",
        ],
        "the message has other words": [
            "test_tensor_diff.py::test_diff_input_validation",
            "test_tensor_diff.py::test_diff_positive_order",
            "test_tensor_diff.py::test_diff_wrong_append_prepend_shape",
        ],
    },
)


LONG = pytest.mark.skipif(not requirements.REQUIRE_ALL_PEERS, reason="it takes long: cargo xtask verify peers runs it")


@pytest.mark.parametrize(
    ("suite", "least"),
    [
        pytest.param(DPCTL, 1000, id="dpctl"),
        pytest.param(DPNP, 2000, id="dpnp", marks=LONG),
        pytest.param(BESIDE_DPCTL, 2000, id="dpnp_beside_dpctl", marks=LONG),
        pytest.param(DPNP_COMPUTE, 8900, id="dpnp_compute", marks=LONG),
    ],
)
def test_suite(request: pytest.FixtureRequest, tmp_path: Path, suite: Suite, least: int) -> None:
    request.getfixturevalue("dpctl" if suite is DPCTL else "dpt")
    installed = found(suite.package)
    assert installed is not None, f"{suite.package} is not installed with its library"
    told = outcomes(suite, installed, tmp_path)
    assert surprises(suite, told) == []
    passed = sum(outcome == "passed" for outcome, _ in told.values())
    assert passed >= least, f"{passed} tests passed, of {len(told)}"


def test_lists_are_compared_in_both_directions() -> None:
    suite = Suite("none", {}, {}, {"why": ["a.py::one*", "a.py::two[x*]", "a.py::three"]})
    told = {
        "a.py::one": ("failed", "E"),
        "a.py::one[y]": ("passed", ""),
        "a.py::two[x]": ("failed", "E"),
        "a.py::two[y]": ("failed", "E"),
        "a.py::three": ("skipped", ""),
    }
    assert surprises(suite, told) == [
        "is listed and passes: a.py::one[y]",
        "fails: a.py::two[y]: E",
        "is listed and matches nothing: a.py::three",
    ]
    assert matches("a[*]", "a[b]") and not matches("a[*]", "ab") and not matches("a.b", "axb")
