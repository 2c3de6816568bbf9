"""Exchange with real dpnp.tensor, both ways, on a real SYCL device."""

import gc
import time
import weakref

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from support.interface import Producer, settled
from support.values import DTYPES, counting, nested, pack


def as_list(dpt, a):
    return dpt.asnumpy(a).tolist()


@pytest.fixture
def theirs(dpt, usm_type):
    return dpt.reshape(dpt.arange(24, dtype="i4", usm_type=usm_type), (2, 3, 4))


@pytest.fixture
def ours(sycl_queue, usm_type):
    a = ut.usm_ndarray((2, 3, 4), dtype="i4", buffer=usm_type, buffer_ctor_kwargs={"queue": sycl_queue})
    a.usm_data.copy_from_host(pack("int32", range(24)))
    return a


def test_ours_to_dpnp(dpt, ours, usm_type):
    view = dpt.asarray(ours)
    assert (view._pointer, view.shape, view.usm_type) == (ours._pointer, (2, 3, 4), usm_type)
    assert as_list(dpt, view) == ours.tolist()
    view[1, 2, 3] = -5
    view.sycl_queue.wait()
    assert ours[1, 2, 3].item() == -5
    ours[0] = 8
    assert as_list(dpt, view) == ours.tolist()
    assert as_list(dpt, view)[0] == [[8] * 4] * 3


def test_dpnp_to_ours(dpt, theirs, usm_type):
    view = ut.asarray(theirs)
    assert (view._pointer, view.shape, view.usm_type, view.dtype) == (theirs._pointer, (2, 3, 4), usm_type, "int32")
    assert view.flags.writable
    assert view.tolist() == as_list(dpt, theirs)
    view[1, 2, 3] = -5
    assert as_list(dpt, theirs[1, 2, 3]) == -5
    theirs[0] = 8
    assert view.tolist() == as_list(dpt, theirs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dpt, sycl_queue, usm_type, dtype):
    values = counting(dtype, 6)
    device = sycl_queue.sycl_device
    if (
        dtype == "float16"
        and not device.has_aspect_fp16
        or dtype in ("float64", "complex128")
        and not device.has_aspect_fp64
    ):
        pytest.skip(f"the device has no {dtype}")
    ours = ut.usm_ndarray((2, 3), dtype=dtype, buffer=usm_type, buffer_ctor_kwargs={"queue": sycl_queue})
    ours.usm_data.copy_from_host(pack(dtype, values))
    theirs = dpt.asarray(ours)
    assert theirs.dtype.name == dtype and theirs._pointer == ours._pointer
    assert as_list(dpt, theirs) == nested(values, (2, 3))
    back = ut.asarray(theirs)
    assert back.dtype == dtype and back.tolist() == nested(values, (2, 3))


VIEWS = {
    "all": ...,
    "row": 1,
    "element": (1, 2, 3),
    "submatrix": (slice(None), slice(1, 3), slice(1, 3)),
    "stepped": (slice(None), slice(None, None, 2), slice(None, None, 3)),
    "reversed": (slice(None, None, -1), slice(None, None, -1), slice(None, None, -1)),
    "reversed_steps": (slice(None), slice(None, None, -2), slice(None, None, -3)),
    "new_axis": (None, 0, ..., None),
    "empty": (slice(0, 0), ...),
}


@pytest.mark.parametrize("transposed", [False, True], ids=["", "T"])
@pytest.mark.parametrize("view", VIEWS)
def test_layouts_of_dpnp(dpt, theirs, view, transposed):
    part = theirs[VIEWS[view]]
    if transposed:
        part = dpt.permute_dims(part, tuple(reversed(range(part.ndim))))
    given = part.__sycl_usm_array_interface__
    a = ut.asarray(part)
    assert (a.shape, a._pointer, a.tolist()) == (part.shape, part._pointer, as_list(dpt, part))
    exported = a.__sycl_usm_array_interface__
    for key in ("data", "shape", "offset", "version"):
        assert exported[key] == given[key], key
    assert exported["typestr"][1:] == given["typestr"][1:]
    if a.size:
        a[...] = -1
        assert as_list(dpt, part) == a.tolist() == ut.asarray(part).tolist()


@pytest.mark.parametrize("view", VIEWS)
def test_layouts_of_ours(dpt, ours, view):
    """Negative strides, too, which the peer refuses although the dict is right: `__usm_ndarray__` has them."""
    part = ours[VIEWS[view]]
    assert hasattr(part, "__usm_ndarray__") == any(stride < 0 for stride in part.strides)
    theirs = dpt.asarray(part)
    assert (theirs.shape, as_list(dpt, theirs)) == (part.shape, part.tolist())
    assert theirs.sycl_queue == part.sycl_queue and theirs.flags.writable
    if part.size:
        assert theirs._pointer == part._pointer
        part.flags.writable = False
        assert not dpt.asarray(part).flags.writable
        theirs[...] = -1
        theirs.sycl_queue.wait()
        assert part.tolist() == as_list(dpt, theirs)


def test_work_in_flight_is_finished(dpt, usm_type):
    theirs = dpt.zeros((500, 500), dtype="f4", usm_type=usm_type)
    for n in range(20):
        theirs += n
    view = ut.asarray(theirs)
    assert view[0, 0].item() == view[499, 499].item() == sum(range(20))


def test_dpnp_keeps_ours_alive(dpt, sycl_queue, usm_type, at_start):
    ours = ut.usm_ndarray((4,), dtype="i4", buffer=usm_type, buffer_ctor_kwargs={"queue": sycl_queue})
    ours[...] = 3
    theirs = dpt.asarray(ours)
    del ours
    gc.collect()
    assert usm.live_allocations()["count"] == at_start["count"] + 1
    assert as_list(dpt, theirs) == [3] * 4
    del theirs
    assert settled() == at_start


def test_ours_keep_dpnp_alive(dpt, usm_type, at_start):
    theirs = dpt.full((4,), 3, dtype="i4", usm_type=usm_type)
    gone = weakref.ref(theirs)
    view = ut.asarray(theirs)[::-1]
    memory = um.as_usm_memory(theirs)
    del theirs
    gc.collect()
    assert gone() is not None
    assert usm.live_allocations()["count"] == at_start["count"]
    assert view.tolist() == [3] * 4
    del view
    gc.collect()
    assert memory.tobytes() == pack("int32", [3] * 4)
    del memory
    assert settled() == at_start
    assert gone() is None


def test_there_and_back(dpt, ours):
    back = ut.asarray(dpt.asarray(ours))
    assert back._pointer == ours._pointer
    back[0, 0, 0] = 99
    assert ours[0, 0, 0].item() == 99


def test_the_constructor_over_dpnp_memory(dpt, theirs):
    a = ut.usm_ndarray((4,), dtype="i4", buffer=theirs, strides=(-2,), offset=7)
    assert a.tolist() == [7, 5, 3, 1]


def test_asnumpy_of_dpnp_arrays(dpt, theirs):
    assert ut.asnumpy(ut.asarray(theirs)[::-1]).tolist() == as_list(dpt, theirs[::-1])


def test_read_only_dicts_of_dpnp_arrays(dpt, theirs):
    interface = theirs.__sycl_usm_array_interface__
    assert interface["data"][1] is False
    frozen = ut.asarray(Producer({**interface, "data": (interface["data"][0], True)}, theirs))
    with pytest.raises(ValueError, match=r"read.?only"):
        frozen[0] = 1


def test_the_last_user_goes_while_work_is_pending(dpt, sycl_queue, usm_type, at_start):
    """dpnp lets go of our memory from a thread of the SYCL runtime, inside the queue that freeing might wait for."""
    for _ in range(3):
        ours = ut.zeros(500_000, "i8", usm_type=usm_type, sycl_queue=sycl_queue)
        theirs = dpt.asarray(ours)
        queue = theirs.sycl_queue
        for _ in range(20):
            theirs += 1
        del ours, theirs
    queue.wait()
    # The runtime's thread may need a moment more to drop its references.
    for _ in range(100):
        if settled() == at_start:
            break
        time.sleep(0.05)
    assert settled() == at_start
