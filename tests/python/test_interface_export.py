"""The dict that our arrays publish: keys, types, and agreement with the array."""

import pytest

import usm
import usm.tensor as ut

from support.interface import KEYS, Producer
from support.values import DTYPES


def test_keys_and_types(array, queue, usm_type):
    a = array((2, 3), dtype="f4", buffer=usm_type)
    interface = a.__sycl_usm_array_interface__
    assert sorted(interface) == sorted(KEYS)
    assert interface["version"] == 1 and type(interface["version"]) is int
    assert interface["shape"] == (2, 3) and type(interface["shape"]) is tuple
    assert interface["strides"] is None
    assert interface["offset"] == 0 and type(interface["offset"]) is int
    address, read_only = interface["data"]
    assert type(interface["data"]) is tuple and address == a._pointer and read_only is False
    if queue.native_stream:
        # The driver's number, since a stream is no object of SYCL.
        assert interface["syclobj"] == "cuda:gpu:0"
        return
    # A queue of dpctl where this program has imported it: some libraries take no other.
    assert usm.SyclQueue(interface["syclobj"]) == queue


@pytest.mark.parametrize("dtype", DTYPES)
def test_typestr(array, dtype):
    typestr = array((1,), dtype=dtype).__sycl_usm_array_interface__["typestr"]
    assert typestr[0] in "|<="
    assert typestr[1:] == DTYPES[dtype][0]


def test_each_access_gives_a_new_dict(array):
    a = array((2,), dtype="f4")
    a.__sycl_usm_array_interface__["shape"] = (100,)
    assert a.__sycl_usm_array_interface__["shape"] == (2,)
    with pytest.raises(AttributeError):
        a.__sycl_usm_array_interface__ = {}


def test_work_on_the_array_is_finished_when_the_dict_is_read(array, usm_type):
    a = array((300, 300), dtype="i4", buffer=usm_type)
    a[...] = 1
    a[::-1, ::2] = 2
    b = ut.asarray(Producer(a.__sycl_usm_array_interface__, a))
    assert b[299, 298].item() == 2 and b[299, 299].item() == 1


def test_asarray_of_our_array_shares_memory(array, usm_type):
    a = array((2, 3), dtype="i2", buffer=usm_type)
    b = ut.asarray(a)
    assert b._pointer == a._pointer and b.__sycl_usm_array_interface__ == a.__sycl_usm_array_interface__
    b[1, 1] = 11
    assert a[1, 1].item() == 11


def test_host_queues_have_no_sycl_capsule(host_queue):
    """A capsule that is not SYCL's would crash whoever consumes it."""
    for source in (host_queue, host_queue.sycl_context):
        with pytest.raises((ValueError, TypeError), match="host"):
            source._get_capsule()
