"""`usm_ndarray(...)` beyond the examples of its specification: defaults, dtypes, refusals."""

import pytest

import usm
import usm.tensor as ut

from support.interface import settled
from support.values import DTYPES, counting, itemsize, nested, pack


def test_defaults(queue):
    a = ut.usm_ndarray((3,), buffer_ctor_kwargs={"queue": queue})
    assert a.usm_type == "device"
    assert a.dtype == ("float64" if a.sycl_device.has_aspect_fp64 else "float32")
    assert a.sycl_queue == queue
    assert a.sycl_context == queue.sycl_context
    assert a.sycl_device == queue.sycl_device
    assert a.flags.writable


def test_attributes(array, usm_type):
    a = array((2, 3, 4), dtype="f4", buffer=usm_type)
    assert (a.ndim, a.size, a.itemsize, a.nbytes) == (3, 24, 4, 96)
    assert len(a) == 2
    assert a.base is not None and a.base._pointer == a.usm_data._pointer
    assert "usm_ndarray" in repr(a) or "USMArray" in repr(a)


def test_usmarray_is_an_alias():
    assert ut.USMArray is ut.usm_ndarray


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_by_name_and_code(array, usm_type, dtype):
    code = DTYPES[dtype][0]
    values = counting(dtype, 6, start=3)
    for spelling in (dtype, code, "|" + code, "=" + code, "<" + code):
        a = array((2, 3), dtype=spelling, buffer=usm_type)
        assert a.dtype == dtype
        assert a.itemsize == itemsize(dtype)
        a.usm_data.copy_from_host(pack(dtype, values))
        assert a.tolist() == nested(values, (2, 3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_dtypes(array, numpy, dtype):
    for spelling in (numpy.dtype(dtype), numpy.dtype(dtype).type):
        a = array((3,), dtype=spelling, buffer="shared")
        assert a.dtype == dtype
        assert numpy.dtype(a.dtype) == numpy.dtype(dtype)


@pytest.mark.parametrize("dtype", [">f8", "f3", "i16", "c4", "b2", "O", "U5", "S3", "V8", "M8[s]", "", "x"])
def test_unsupported_dtypes_are_refused(array, dtype):
    with pytest.raises((ValueError, TypeError)):
        array((2,), dtype=dtype)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, "4"), (2, "3", 4), ("2", 3, 4), [2, 3, 4], [2, "3", 4]])
def test_sizes_may_be_of_any_integer_type(array, usm_type, shape):
    class Size:
        def __init__(self, size):
            self.size = int(size)

        def __index__(self):
            return self.size

    sizes = type(shape)(size if isinstance(size, int) else Size(size) for size in shape)
    assert array(sizes, dtype="i1", buffer=usm_type).shape == (2, 3, 4)


@pytest.mark.parametrize("shape", [(2, -1), (2, 3, -4), [-2, 3], (2, 1 << 70), (2, "3"), (2, 3.0), (2, (3,))])
def test_sizes_that_are_none_are_named(array, usm_type, shape):
    with pytest.raises((ValueError, TypeError), match=r"shape\[[012]\]: found"):
        array(shape, dtype="i1", buffer=usm_type)


def test_shape_may_be_a_number_or_a_list(array, usm_type):
    assert array(3, dtype="u1", buffer=usm_type).shape == (3,)
    assert array([2, 3], dtype="u1", buffer=usm_type).shape == (2, 3)
    assert array((), dtype="u1", buffer=usm_type).shape == ()


@pytest.mark.parametrize("shape", [(-1,), (2, -3), (-2, -3), (2**62, 4), (2**32, 2**32), (2**70,)])
def test_impossible_shapes_are_refused(array, shape):
    with pytest.raises((ValueError, OverflowError)):
        array(shape, dtype="u1")


@pytest.mark.parametrize("shape", [(2.0,), "3", (None,), ("2",)])
def test_shapes_of_wrong_type_are_refused(array, shape):
    with pytest.raises((TypeError, ValueError)):
        array(shape, dtype="u1")


def test_more_than_64_dimensions_are_refused(array):
    assert array((1,) * 64, dtype="u1").ndim == 64
    with pytest.raises(ValueError, match="64"):
        array((1,) * 65, dtype="u1")


def test_strides_must_fit_the_shape(array):
    with pytest.raises(ValueError, match="strides"):
        array((2, 3), dtype="u1", strides=(1,))
    with pytest.raises((ValueError, OverflowError)):
        array((2, 3), dtype="f8", strides=(2**62, 1))
    with pytest.raises((ValueError, TypeError), match="order"):
        array((2, 3), dtype="u1", order="K")


@pytest.mark.parametrize("buffer", ["gpu", "", "Device", b"device", 3, object()])
def test_unknown_buffers_are_refused(array, buffer):
    with pytest.raises((ValueError, TypeError)):
        array((2, 3), dtype="u1", buffer=buffer)


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((9,), None, 0),  # one element more than there is
        ((8,), None, 1),
        ((8,), None, -1),
        ((2,), (8,), 0),
        ((2,), (-1,), 0),  # below the start
        ((4,), (-2,), 5),
        ((2, 2), (7, 1), 1),
        ((1,), None, 8),
        ((1,), None, 2**62),
        ((2**61,), (1,), 0),
    ],
)
def test_arrays_that_leave_the_given_memory_are_refused(allocate, usm_type, shape, strides, offset):
    memory = allocate(usm_type, 64)
    before = settled()
    with pytest.raises((ValueError, OverflowError)):
        ut.usm_ndarray(shape, dtype="f8", buffer=memory, strides=strides, offset=offset)
    assert settled() == before


def test_a_trailing_part_of_the_memory_may_stay_unused(allocate, usm_type):
    memory = allocate(usm_type, 64 + 3)
    a = ut.usm_ndarray((8,), dtype="f8", buffer=memory)
    assert a.nbytes == 64


def test_alignment_reaches_the_memory(queue, usm_type):
    a = ut.usm_ndarray((3,), dtype="u1", buffer=usm_type, buffer_ctor_kwargs={"queue": queue, "alignment": 4096})
    assert a._pointer % 4096 == 0


def test_unknown_memory_keywords_are_refused(queue):
    with pytest.raises(TypeError):
        ut.usm_ndarray((3,), dtype="u1", buffer_ctor_kwargs={"queue": queue, "colour": 1})


def test_out_of_memory_is_a_memory_error(array, usm_type):
    with pytest.raises(usm.USMAllocationError) as info:
        array((2**45,), dtype="f8", buffer=usm_type)
    assert isinstance(info.value, MemoryError)


@pytest.mark.parametrize("order", ["C", "F"])
def test_empty_and_zeros(queue, usm_type, order):
    e = ut.empty((2, 3), dtype="i4", order=order, usm_type=usm_type, sycl_queue=queue)
    assert (e.shape, e.dtype, e.usm_type, e.sycl_queue) == ((2, 3), "int32", usm_type, queue)
    assert e.flags.f_contiguous == (order == "F")
    z = ut.zeros((2, 3), dtype="i4", order=order, usm_type=usm_type, sycl_queue=queue)
    assert z.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_device_argument(queue):
    device = queue.sycl_device
    for chosen in (device, device.filter_string, queue):
        assert ut.empty((1,), dtype="u1", device=chosen).sycl_device == device


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((3,), (8,), 0), ((3,), (-8,), 16), ((3,), (-8,), 2), ((1, 3), (24, 8), 0)],
    ids=str,
)
def test_strides_that_look_like_bytes_are_hinted_at(array, allocate, usm_type, shape, strides, offset):
    memory = allocate(usm_type, 24)
    with pytest.raises(ValueError, match="strides count elements, not bytes: divide them by the item size of 8"):
        ut.usm_ndarray(shape, "f8", strides=strides, offset=offset, buffer=memory)


@pytest.mark.parametrize(
    ("dtype", "shape", "strides"),
    [("f8", (3,), (7,)), ("f8", (4,), (8,)), ("u1", (25,), (1,)), ("f8", (2,), (2**62,))],
    ids=str,
)
def test_other_strides_are_not(allocate, usm_type, dtype, shape, strides):
    memory = allocate(usm_type, 24)
    with pytest.raises(ValueError) as caught:
        ut.usm_ndarray(shape, dtype, strides=strides, buffer=memory)
    assert "reach from element" in str(caught.value) and "bytes:" not in str(caught.value)


def test_a_view_as_buffer_says_where_to_begin(queue, usm_type):
    x = ut.asarray(list(range(8)), "c8", usm_type=usm_type, sycl_queue=queue)
    for view, begin in ((x[4:], 4), (x[::-1], 7), (x[1:3], 1), (ut.reshape(x, (2, 4))[1], 4), (x.imag[2:], 5)):
        with pytest.raises(ValueError, match=rf"^buffer: .*offset={begin}\b.*buffer=x\.usm_data"):
            ut.usm_ndarray((2,), view.dtype, buffer=view)
        # With a number the view stands for its memory, as the container specification has it.
        assert ut.usm_ndarray((2,), "c8", buffer=view, offset=0).tolist() == [0j, 1 + 0j]
    view = x[4:]
    assert ut.usm_ndarray((4,), "c8", buffer=view, offset=4).tolist() == [4, 5, 6, 7]
    assert ut.usm_ndarray((4,), "c8", buffer=view.usm_data).tolist() == [0, 1, 2, 3]
    # These begin at 0, so that both readings are the same.
    for view in (
        x,
        x[:4],
        x[::2],
        ut.reshape(x, (2, 4)).T,
        x.real,
        ut.asarray(3.0, usm_type=usm_type, sycl_queue=queue),
    ):
        assert ut.usm_ndarray((1,), view.dtype, buffer=view).item() == view[(0,) * view.ndim].item()
