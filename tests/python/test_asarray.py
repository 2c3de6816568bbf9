"""`asarray` of each kind of object with elements, with each keyword."""

import array as array_module
import itertools
import re

import pytest

import usm
import usm.tensor as ut

from support.dlpack import CPU, Exporter
from support.interface import Producer
from support.layouts import STRIDED, strided_array
from support.values import DTYPES, counting, flattened, nested, pack


def lists(obj):
    return [lists(item) for item in obj] if isinstance(obj, list | tuple | range) else obj


@pytest.mark.parametrize(
    ("obj", "shape", "dtype"),
    [
        (True, (), "bool"),
        (7, (), "int64"),
        (2.5, (), "float64"),
        (1 - 2j, (), "complex128"),
        (2**63, (), "uint64"),
        (-(2**63), (), "int64"),
        ([], (0,), "float64"),
        ([[], []], (2, 0), "float64"),
        ([1, 2, 3], (3,), "int64"),
        ((True, 2), (2,), "int64"),
        ([1, 2.5], (2,), "float64"),
        ([[1], [2j]], (2, 1), "complex128"),
        ([2**64 - 1, 0], (2,), "uint64"),
        (range(3, 9, 2), (3,), "int64"),
        ([range(2), (3, 4)], (2, 2), "int64"),
        ([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], (2, 2, 2), "int64"),
    ],
    ids=repr,
)
def test_numbers_and_sequences(queue, usm_type, obj, shape, dtype):
    if not queue.sycl_device.has_aspect_fp64:
        pytest.skip("the defaults are of devices with 64-bit floats")
    a = ut.asarray(obj, usm_type=usm_type, sycl_queue=queue)
    assert (a.shape, a.dtype, a.usm_type, a.sycl_queue) == (shape, dtype, usm_type, queue)
    if a.size:
        assert flattened(a.tolist()) == flattened(lists(obj))
    assert a.flags.writable and a.flags.c_contiguous


def test_sequences_are_as_dpnp_has_them(dpt, numpy):
    cases = [[1, 2], [[1.5, True], [2, 3]], [1j, 0], [], [[]], ((1, 2), [3, 4]), [numpy.float32(1), 2]]
    cases += [[numpy.int8(1), numpy.uint8(2)], [numpy.arange(3), [4, 5, 6]], [numpy.ones(2, "f4"), numpy.ones(2, "i2")]]
    for case in cases:
        theirs, ours = dpt.asarray(case), ut.asarray(case)
        assert (ours.shape, ours.dtype, ours.usm_type) == (theirs.shape, theirs.dtype, theirs.usm_type), case
        assert ours.tolist() == dpt.asnumpy(theirs).tolist()


def test_signature_is_that_of_dpnp(dpt):
    import inspect

    theirs, ours = inspect.signature(dpt.asarray).parameters, inspect.signature(ut.asarray).parameters
    assert set(ours) == set(theirs)
    assert {name: p.default for name, p in ours.items()} == {name: p.default for name, p in theirs.items()}
    for name in ("from_numpy", "from_dlpack", "to_numpy", "asnumpy"):
        theirs, ours = inspect.signature(getattr(dpt, name)), inspect.signature(getattr(ut, name))
        # The default of the kind follows from `device`, and is the same without one.
        defaults = {n: p.default for n, p in theirs.parameters.items()} | (
            {"usm_type": None} if name == "from_numpy" else {}
        )
        assert {n: p.default for n, p in ours.parameters.items()} == defaults


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_asked_of_numbers_and_arrays(queue, dtype):
    kind = DTYPES[dtype][0][0]
    numbers = counting(dtype, 4)
    a = ut.asarray(numbers, dtype=dtype, sycl_queue=queue)
    assert a.dtype == dtype and a.tolist() == numbers
    assert ut.asarray(numbers, dtype, sycl_queue=queue).tolist() == numbers
    if kind in "iu":
        assert ut.asarray([1.9, 2], dtype, sycl_queue=queue).tolist() == [1, 2]
    again = ut.asarray(ut.asarray([0, 1, 2], sycl_queue=queue), dtype)
    assert again.dtype == dtype and [complex(x) for x in again.tolist()] in ([0, 1, 2], [0, 1, 1])


def test_numbers_that_no_element_holds(queue):
    for obj, dtype in (([256], "u1"), ([-1], "u8"), ([2**64], None), (2**70, None), ([2**63, -1], None)):
        with pytest.raises((ValueError, OverflowError)):
            ut.asarray(obj, dtype, sycl_queue=queue)
    for dtype in ("f4", "i2"):
        with pytest.raises(TypeError):
            ut.asarray([1j], dtype, sycl_queue=queue)


class List(list):
    pass


class Float(float):
    pass


@pytest.mark.parametrize("dtype", [None, "?", "u1", "i4", "f4", "f8", "c16"])
def test_numbers_of_one_type_are_as_among_others(queue, usm_type, dtype):
    """Lists and tuples of one type of number are read faster than others, and have the same elements."""
    place = {"usm_type": usm_type, "sycl_queue": queue}
    for numbers in ([1.5, 0.0, -2.0, 255.0], [3, 0, 255, -1], [True, False, True, True], [2**40, 1, 2**63 - 1, 0]):
        for obj in (
            numbers,
            tuple(numbers),
            [numbers[:2], tuple(numbers[2:])],
            ([[number] for number in numbers[:2]], [(number,) for number in numbers[2:]]),
        ):
            made = []
            for one in (obj, List(obj)):
                try:
                    a = ut.asarray(one, dtype, **place)
                except (OverflowError, ValueError) as error:
                    made.append((type(error), str(error)))
                else:
                    made.append((a.shape, a.dtype, a.usm_type, a.sycl_queue, a.tolist()))
            assert made[0] == made[1], obj
            assert dtype is not None or made[0][-1] == lists(obj)


def test_numbers_of_one_type_before_others(queue):
    for numbers, dtype in (
        ([1.5, 2], "float64"),
        ([1, 2.5], "float64"),
        ([1, True], "int64"),
        ([True, 1], "int64"),
        ([1, 2**63], "uint64"),
        ([1.5, 1j], "complex128"),
        ([1.5, Float(2.5)], "float64"),
        ([1.5, ut.asarray(2.5, sycl_queue=queue)], "float64"),
    ):
        for obj in (numbers, [numbers[::-1], numbers], tuple(numbers), [[numbers[0]], List([numbers[1]])]):
            a = ut.asarray(obj, dtype, sycl_queue=queue)
            expected = [complex(number) for number in flattened(lists(obj))]
            assert [complex(number) for number in flattened(a.tolist())] == expected, obj
            assert a.dtype == ut.asarray(obj, sycl_queue=queue).dtype
    for obj, where in (
        ([1.0, [2.0]], r"obj\[1\]"),
        ([[1.0, 2.0], [3.0]], r"obj\[1\]"),
        ([[1, 2], [3, 4, 5]], r"obj\[1\]"),
        ([[[True], [True]], [[True], []]], r"obj\[1\]\[1\]"),
        ([[1.0], 2.0], r"obj\[1\]"),
        ([1.0, "2"], r"obj\[1\]"),
        ([1.0, None], r"obj\[1\]"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{where}: "):
            ut.asarray(obj, sycl_queue=queue)
    deepest = 1.0
    for _ in range(64):
        deepest = [deepest]
    assert ut.asarray(deepest, sycl_queue=queue).shape == (1,) * 64
    with pytest.raises(ValueError, match="64"):
        ut.asarray([deepest], sycl_queue=queue)


def test_many_numbers_name_the_one_that_does_not_fit(queue, usm_type):
    numbers = [float(i % 200) for i in range(300_000)]
    place = {"usm_type": usm_type, "sycl_queue": queue}
    assert ut.asarray(numbers, "u1", **place).tolist() == numbers
    assert ut.asarray(numbers, "f4", **place)[-3:].tolist() == numbers[-3:]
    rows = [numbers[i : i + 1000] for i in range(0, len(numbers), 1000)]
    assert ut.asarray(rows, order="F", **place).tolist() == rows
    rows[299][998] = 256.0
    with pytest.raises(OverflowError, match=r"^obj\[299\]\[998\]: "):
        ut.asarray(rows, "u1", **place)
    numbers[-1] = float("nan")
    with pytest.raises(ValueError, match=r"^obj\[299999\]: "):
        ut.asarray(numbers, "i8", **place)


@pytest.mark.parametrize("count", [1 << 61, 1 << 70])
def test_a_range_of_more_numbers_than_there_is_memory_for(queue, count):
    numbers, array = range(count), ut.zeros(3, sycl_queue=queue)
    reason = re.escape(f"no host memory for the numbers of {numbers}")
    with pytest.raises(MemoryError, match=reason):
        ut.asarray(numbers, sycl_queue=queue)
    with pytest.raises(MemoryError, match=reason):
        array[numbers]
    with pytest.raises(MemoryError, match=reason):
        array[...] = numbers
    assert array.tolist() == [0.0] * 3


def test_ragged_sequences_name_the_item(queue):
    for obj, where in (
        ([1, [2]], r"obj\[1\]"),
        ([[1, 2], [3]], r"obj\[1\]"),
        ([[[1], [2]], [[1], [2, 3]]], r"obj\[1\]\[1\]"),
    ):
        with pytest.raises(ValueError, match=f"^{where}"):
            ut.asarray(obj, sycl_queue=queue)
    with pytest.raises(TypeError, match=r"^obj\[1\]\[0\]: found str"):
        ut.asarray([[1], ["a"]], sycl_queue=queue)
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="64"):
        ut.asarray(endless, sycl_queue=queue)


def test_sequences_of_arrays(queue, usm_type, numpy):
    a = ut.asarray([[1, 2], [3, 4]], "i2", usm_type=usm_type, sycl_queue=queue)
    stacked = ut.asarray([a, a.T])
    assert (stacked.dtype, stacked.usm_type, stacked.sycl_queue) == ("int16", usm_type, queue)
    assert stacked.tolist() == [[[1, 2], [3, 4]], [[1, 3], [2, 4]]]
    theirs = Producer(a[1].__sycl_usm_array_interface__, a)
    # A dict of CUDA memory names the device, and no queue.
    place = {"sycl_queue": queue} if queue.sycl_device.backend == "cuda" else {}
    mixed = ut.asarray([a[0], [5, 6.5], numpy.array([7, 8], "f4"), theirs], **place)
    assert (mixed.dtype, mixed.usm_type, mixed.shape) == ("float64", usm_type, (4, 2))
    assert mixed.tolist() == [[1, 2], [5, 6.5], [7, 8], [3, 4]]
    assert ut.asarray([a[0, 0], 9], "u1", order="F").tolist() == [1, 9]
    host = ut.asarray(a, usm_type="host")
    assert ut.asarray([host, a]).usm_type == usm_type
    for order in "CFAK":
        assert ut.asarray([a, a], order=order).tolist() == [a.tolist(), a.tolist()]


def test_arrays_of_several_queues_need_a_place(host_queue, queue):
    a = ut.asarray([1, 2], sycl_queue=host_queue)
    b = ut.asarray([3, 4], sycl_queue=usm.SyclQueue(queue.sycl_device))
    with pytest.raises(ut.ExecutionPlacementError, match="sycl_queue"):
        ut.asarray([a, b])
    assert ut.asarray([a, b], sycl_queue=queue).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("name", STRIDED)
def test_conversions_of_every_layout(allocate, usm_type, name, queue):
    a, expected = strided_array(allocate, usm_type, name)
    for dtype, order in itertools.product((None, "float32"), "CFAK"):
        converted = ut.asarray(a, dtype, order=order)
        flags = converted.flags
        assert converted.tolist() == expected
        assert {"C": flags.c_contiguous, "F": flags.f_contiguous}.get(order, True)
    copy = ut.asarray(a, copy=True)
    assert copy.tolist() == expected and copy.flags.writable
    assert not a.size or copy._pointer != a._pointer
    for kind in ("host", "device", "shared"):
        assert ut.asarray(a, usm_type=kind).tolist() == expected


@pytest.mark.parametrize("name", STRIDED)
def test_buffers_of_every_layout(allocate, queue, name, host_accessible):
    a, expected = strided_array(allocate, host_accessible, name)
    with memoryview(a) as view:
        for kind, order in itertools.product(("host", "device", "shared"), "CFAK"):
            copied = ut.asarray(view, usm_type=kind, sycl_queue=queue, order=order)
            assert copied.tolist() == expected
            assert {"C": copied.flags.c_contiguous, "F": copied.flags.f_contiguous}.get(order, True)
        cast = ut.asarray(view, "f8", sycl_queue=queue)
        assert cast.dtype == "float64" and cast.tolist() == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_arrays_and_scalars(queue, usm_type, numpy, dtype):
    values = numpy.array(counting(dtype, 12), dtype).reshape(3, 4)
    for n in (values, values.T, values[::-1, ::2], numpy.asfortranarray(values), values[1, 2], values[:0]):
        a = ut.asarray(n, usm_type=usm_type, sycl_queue=queue)
        assert (a.shape, a.dtype) == (n.shape, dtype)
        assert a.tolist() == n.tolist()
        b = ut.from_numpy(n, usm_type=usm_type, sycl_queue=queue)
        assert (b.shape, b.dtype, b.usm_type, b.sycl_queue, b.tolist()) == (n.shape, dtype, usm_type, queue, n.tolist())
    assert ut.asarray(values.T, sycl_queue=queue).strides == (1, 4)


def test_numpy_arrays_that_have_odd_layouts(queue, numpy):
    record = numpy.zeros(5, dtype=[("a", "i1"), ("b", "<f4")])
    record["b"] = [1, 2, 3, 4, 5]
    assert not record["b"].flags.aligned
    assert ut.asarray(record["b"], sycl_queue=queue).tolist() == [1, 2, 3, 4, 5]
    frozen = numpy.arange(3)
    frozen.flags.writeable = False
    assert ut.asarray(frozen, sycl_queue=queue).flags.writable
    big = numpy.arange(3, dtype=">i4")
    for wrong in (big, record, numpy.array(["a"]), numpy.array([None]), numpy.zeros(2, "M8[s]"), numpy.longdouble(1)):
        with pytest.raises((TypeError, ValueError)):
            ut.asarray(wrong, sycl_queue=queue)
        with pytest.raises((TypeError, ValueError)):
            ut.from_numpy(wrong, sycl_queue=queue)


def test_from_numpy_of_what_numpy_takes(queue, numpy):
    assert ut.from_numpy([[1, 2]], sycl_queue=queue).tolist() == [[1, 2]]
    assert ut.from_numpy(3.5, sycl_queue=queue).tolist() == 3.5
    with pytest.raises(TypeError):
        ut.from_numpy(None, sycl_queue=queue)
    device = ut.asarray([1], usm_type="device", sycl_queue=queue)
    with pytest.raises(TypeError, match="asnumpy"):
        ut.from_numpy(device)


def test_column_major_arrays_stay_so_in_numpy(queue, usm_type, numpy):
    a = ut.asarray([[1, 2, 3], [4, 5, 6]], order="F", usm_type=usm_type, sycl_queue=queue)
    for n in (ut.asnumpy(a), ut.to_numpy(a)):
        assert n.flags.f_contiguous and not n.flags.c_contiguous and n.tolist() == a.tolist()


def test_buffers_of_the_standard_library(queue):
    assert ut.asarray(array_module.array("h", [1, -2]), sycl_queue=queue).tolist() == [1, -2]
    assert ut.asarray(bytearray(b"ab"), sycl_queue=queue).tolist() == [97, 98]


def test_objects_that_only_numpy_understands(queue, numpy):
    class Old:
        def __array__(self, dtype=None, copy=None):
            return numpy.arange(3, dtype="i2")

    class Older:
        def __init__(self):
            self.array = numpy.arange(3, dtype="i2")
            self.__array_interface__ = self.array.__array_interface__

    for obj in (Old(), Older()):
        assert ut.asarray(obj, sycl_queue=queue).tolist() == [0, 1, 2]
        assert ut.asarray([obj, obj], sycl_queue=queue).tolist() == [[0, 1, 2]] * 2


def test_objects_that_hold_an_array():
    class Holder:
        def __init__(self, array):
            self.__usm_ndarray__ = array

    a = ut.asarray([1, 2], usm_type="shared")
    assert ut.asarray(Holder(a))._pointer == a._pointer


def test_dlpack_objects(queue, host_accessible):
    a = ut.asarray([[1, 2], [3, 4]], usm_type=host_accessible, sycl_queue=queue)
    same = ut.asarray(Exporter(a))
    assert same._pointer == a._pointer and same.tolist() == a.tolist()
    assert ut.asarray(Exporter(a), copy=False)._pointer == a._pointer
    copy = ut.asarray(Exporter(a), copy=True)
    assert copy._pointer != a._pointer and copy.tolist() == a.tolist()
    assert ut.asarray(Exporter(a), "f4", usm_type="device").tolist() == a.tolist()
    assert ut.asarray([Exporter(a), a.T], sycl_queue=queue).shape == (2, 2, 2)
    with pytest.raises(ValueError, match="copy"):
        ut.asarray(Exporter(a), "f4", copy=False)
    assert ut.asarray(Exporter(a, CPU), copy=False)._pointer == a._pointer


def test_copy_never_never_copies(queue, usm_type, numpy):
    a = ut.asarray([[1, 2], [3, 4]], usm_type=usm_type, sycl_queue=queue)
    assert ut.asarray(a, copy=False) is a and ut.asarray(a) is a
    assert ut.asarray(a, "int64", usm_type=usm_type, sycl_queue=queue, order="C", copy=False) is a
    view = ut.asarray(Producer(a.__sycl_usm_array_interface__, a), copy=False)
    assert view._pointer == a._pointer
    other = "host" if usm_type == "shared" else "shared"
    for keywords in (
        {"dtype": "f4"},
        {"order": "F"},
        {"usm_type": other},
        {"sycl_queue": usm.SyclQueue(queue.sycl_device)},
    ):
        with pytest.raises(ValueError, match="copy"):
            ut.asarray(a, copy=False, **keywords)
        assert ut.asarray(a, copy=None, **keywords).tolist() == a.tolist()
    for obj in ([1], 1, range(3), (a,), b"a", numpy.arange(2), numpy.float32(2)):
        with pytest.raises(ValueError, match="copy"):
            ut.asarray(obj, copy=False)
    before = usm.live_allocations()
    with pytest.raises(ValueError):
        ut.asarray([1], copy=False)
    assert usm.live_allocations() == before


def test_read_only_arrays_stay_so_and_copies_do_not(queue, usm_type):
    a = ut.asarray([1, 2], usm_type=usm_type, sycl_queue=queue)
    frozen = ut.asarray(Producer({**a.__sycl_usm_array_interface__, "data": (a._pointer, True)}, a))
    assert not ut.asarray(frozen).flags.writable and ut.asarray(frozen) is frozen
    assert ut.asarray(frozen, copy=True).flags.writable
    assert ut.asarray([frozen]).flags.writable


def test_places(host_queue, queue):
    a = ut.asarray([1, 2], device=queue)
    assert a.sycl_queue == queue
    # A device is kept by an array that is on it, on whatever queue.
    assert ut.asarray(a, device=queue.sycl_device) is a
    assert ut.asarray(a, device=queue.sycl_device.filter_string, copy=False) is a
    moved = ut.asarray(a, device="host")
    assert moved.sycl_device == host_queue.sycl_device and moved.tolist() == [1, 2]
    assert ut.asarray([1], device=queue, sycl_queue=queue).sycl_queue == queue
    with pytest.raises(TypeError, match="device, sycl_queue"):
        ut.asarray([1], device=queue, sycl_queue=usm.SyclQueue(queue.sycl_device))

    class Place:
        sycl_queue = queue

    assert ut.asarray([1], device=Place()).sycl_queue == queue


def test_wrong_arguments(queue):
    for keywords, error in (
        ({"copy": "a"}, TypeError),
        ({"order": "Z"}, ValueError),
        ({"order": 3}, TypeError),
        ({"usm_type": "x"}, ValueError),
        ({"usm_type": 3}, TypeError),
        ({"device": "nope"}, (usm.SyclDeviceCreationError, ValueError)),
        ({"device": 3}, TypeError),
        ({"sycl_queue": object()}, TypeError),
        ({"dtype": "S3"}, (TypeError, ValueError)),
        ({"dtype": object()}, TypeError),
    ):
        with pytest.raises(error):
            ut.asarray([1, 2], **keywords)


def test_errors_of_external_code_come_through(queue):
    class Broken:
        @property
        def __sycl_usm_array_interface__(self):
            raise RuntimeError("mine")

    for obj in (Broken(), [Broken()]):
        with pytest.raises(RuntimeError, match="mine"):
            ut.asarray(obj)


def test_a_failure_leaves_nothing(queue, usm_type, at_start):
    a = ut.asarray([1, 2], usm_type=usm_type, sycl_queue=queue)
    for obj in ([a, [1]], [a, "x"], [a, [1, 2, 3]]):
        with pytest.raises((TypeError, ValueError)):
            ut.asarray(obj)
    assert usm.live_allocations()["count"] == at_start["count"] + 1


def test_values_are_packed_as_the_elements_say(queue, usm_type):
    for dtype in DTYPES:
        values = counting(dtype, 6)
        a = ut.asarray(nested(values, (2, 3)), dtype, usm_type=usm_type, sycl_queue=queue)
        assert a.usm_data.tobytes() == pack(dtype, values)


@pytest.mark.parametrize(
    ("dtype", "named"),
    [
        ("M8[D]", r"datetime64\[D\]"),
        ("m8[ns]", r"timedelta64\[ns\]"),
        ("O", "object"),
        ("U3", "<U3"),
        ("S3", r"\|S3"),
        ("V3", r"\|V3"),
        ([("a", "i4"), ("b", "f8")], r"\[\('a', '<i4'\), \('b', '<f8'\)\]"),
        ("longdouble", "float128"),
        ("clongdouble", "complex256"),
        (">f4", ">f4"),
    ],
    ids=str,
)
def test_elements_that_are_no_numbers_are_named(numpy, queue, dtype, named):
    theirs = numpy.zeros(2, dtype)
    a = ut.zeros(2, sycl_queue=queue)
    calls = [
        lambda: ut.asarray(theirs, sycl_queue=queue),
        lambda: ut.asarray([theirs], sycl_queue=queue),
        lambda: ut.from_numpy(theirs, sycl_queue=queue),
        lambda: a.__setitem__(slice(None), theirs),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=named):
            call()
    with pytest.raises(IndexError, match=named):
        a[theirs]


@pytest.mark.parametrize("name", ["datetime64", "timedelta64"])
def test_numbers_of_time_are_not_their_bytes(numpy, queue, name):
    moment = getattr(numpy, name)(1, "D")
    for call in (lambda: ut.asarray(moment, sycl_queue=queue), lambda: ut.asarray([moment], sycl_queue=queue)):
        with pytest.raises(TypeError, match=rf'{name}\[D\].*view\("int64"\)'):
            call()
    times = numpy.asarray([moment])
    assert ut.asarray(times.view("int64"), sycl_queue=queue).tolist() == [1]
    assert ut.asarray(numpy.uint8(7), sycl_queue=queue).tolist() == 7
    assert ut.asarray(numpy.arange(3, dtype="u1"), sycl_queue=queue).tolist() == [0, 1, 2]


# Numbers that an element of the dtype does not hold, as Python and NumPy tell.
MISFITS = [
    (300.0, "u1", OverflowError),
    (-1.0, "u1", OverflowError),
    (300, "u1", OverflowError),
    (1e10, "i4", OverflowError),
    (2.0**63, "i8", OverflowError),
    (2.0**64, "u8", OverflowError),
    (float("inf"), "i8", OverflowError),
    (float("-inf"), "u8", OverflowError),
    (2**64, "u8", OverflowError),
    (float("nan"), "i4", ValueError),
    (1j, "f4", TypeError),
    (1 + 0j, "i4", TypeError),
]


@pytest.mark.parametrize(("number", "dtype", "error"), MISFITS, ids=str)
def test_numbers_that_do_not_fit_are_refused_everywhere(queue, usm_type, number, dtype, error):
    place = {"usm_type": usm_type, "sycl_queue": queue}
    for obj, where in (
        (number, ""),
        ([number], r"\[0\]"),
        ([[0, 1], (1, number)], r"\[1\]\[1\]"),
        ([[0], [ut.ones((), "i1", **place)], [number]], r"\[2\]\[0\]"),
    ):
        with pytest.raises(error, match=rf"^obj{where}: "):
            ut.asarray(obj, dtype, **place)
    a = ut.zeros((2, 2), dtype, **place)
    indices = ut.asarray([0], **place)
    for change in (
        lambda value: a.__setitem__(0, value),
        lambda value: a.__setitem__(..., [[0, 0], [0, value]]),
        lambda value: a.__setitem__([0], [[value, 0]]),
        lambda value: ut.put(a, indices, value, axis=0),
        lambda value: ut.put(a, indices, [[value, 0]], axis=0),
        lambda value: ut.put_along_axis(a, ut.zeros((1, 2), "i8", **place), value, axis=0),
        lambda value: ut.place(a, ut.ones((2, 2), "?", **place), [value]),
        lambda value: ut.full((2,), value, dtype, **place),
        lambda value: ut.full((1, 2), [value, 0], dtype, **place),
        lambda value: ut.full_like(a, value),
        lambda value: ut.full_like(a, [value, 0]),
    ):
        with pytest.raises(error):
            change(number)
    assert a.tolist() == ut.zeros((2, 2), dtype, **place).tolist(), "a refusal changes no element"


@pytest.mark.parametrize(
    ("number", "dtype", "error"), [case for case in MISFITS if abs(case[0]) < 2**63 or case[0] != case[0]], ids=str
)
def test_numbers_of_numpy_that_do_not_fit_are_refused_as_those_of_python(queue, numpy, number, dtype, error):
    for scalar in (numpy.asarray(number)[()], numpy.asarray(number)):
        for obj in (scalar, [scalar], (0, scalar)):
            with pytest.raises(error, match="^obj"):
                ut.asarray(obj, dtype, sycl_queue=queue)
    if isinstance(number, float):
        with pytest.raises(error, match="^obj"):
            ut.asarray([numpy.float32(number)], dtype, sycl_queue=queue)


def test_numbers_that_fit_lose_their_fraction(queue, usm_type, numpy):
    numbers = [1.9, -1.9, 127.5, -128.9, True, 3, -0.5]
    expected = [1, -1, 127, -128, 1, 3, 0]
    assert ut.asarray(numbers, "i1", usm_type=usm_type, sycl_queue=queue).tolist() == expected
    scalars = [numpy.float32(1.9), numpy.float16(-1.9), numpy.bool_(True), numpy.int64(3)]
    assert ut.asarray(scalars, "i1", usm_type=usm_type, sycl_queue=queue).tolist() == [1, -1, 1, 3]
    assert ut.asarray([numpy.float32(0.5), 2], sycl_queue=queue).tolist() == [0.5, 2.0]
    assert ut.asarray([1e300, -1e300], "f4", sycl_queue=queue).tolist() == [float("inf"), float("-inf")]
    assert ut.asarray([float("nan"), 0, 2], "?", sycl_queue=queue).tolist() == [True, False, True]


def test_casts_of_arrays_keep_their_rule(queue, usm_type, numpy):
    """Elements of arrays are cast as by astype: the nearest integer, 0 for NaN."""
    reals = numpy.asarray([300.0, -5.0, numpy.nan])
    ours = ut.asarray(reals, usm_type=usm_type, sycl_queue=queue)
    for cast in (ut.asarray(reals, "u1", sycl_queue=queue), ut.asarray(ours, "u1"), ut.astype(ours, "u1")):
        assert cast.tolist() == [255, 0, 0]
    assert ut.asarray([ours, reals], "u1", usm_type=usm_type, sycl_queue=queue).tolist() == [[255, 0, 0]] * 2
    assert ut.asarray([numpy.asarray([1, 300])], "u1", sycl_queue=queue).tolist() == [[1, 44]], "as in NumPy"


def test_integers_that_no_float_holds_are_named(queue):
    with pytest.raises(OverflowError, match=r"^obj\[1\]\[0\]: "):
        ut.asarray([[1.0], [10**400]], "f8", sycl_queue=queue)


def test_ends_of_ranges_that_do_not_fit(queue):
    for end, dtype, error in (
        (300, "u1", OverflowError),
        (1e10, "i4", OverflowError),
        (float("nan"), "i4", ValueError),
    ):
        with pytest.raises(error):
            ut.arange(end - 1, end + 1, dtype=dtype, sycl_queue=queue)
        with pytest.raises(error):
            ut.linspace(0, end, 3, dtype=dtype, sycl_queue=queue)


def test_times_of_numpy_are_no_numbers(numpy, queue):
    """NumPy turns those in nanoseconds into integers."""
    a = ut.zeros(2, "i8", sycl_queue=queue)
    for time in (
        numpy.datetime64("2026-01-01", "ns"),
        numpy.timedelta64(3, "ns"),
        numpy.asarray(numpy.timedelta64(3, "ns")),
    ):
        for act in (
            lambda t=time: ut.asarray(t, "i8", sycl_queue=queue),
            lambda t=time: ut.asarray([t], "i8", sycl_queue=queue),
            lambda t=time: ut.full(2, t, "i8", sycl_queue=queue),
            lambda t=time: a.__setitem__(0, t),
            lambda t=time: a < t,
        ):
            with pytest.raises(TypeError):
                act()
    assert a.tolist() == [0, 0]
