"""The extension against every producer of arrays there is here. `cargo xtask ci` runs it on the installed wheels."""

import gc
import importlib
import os
import struct
import subprocess
import sys
import threading
import weakref

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

import usm_pyext_example as example

REQUIRE_SYCL = os.environ.get("USM_REQUIRE_SYCL") == "1"
REQUIRE_PEERS = os.environ.get("USM_REQUIRE_PEERS") == "1"


def module(name, required):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if required:
            raise
        pytest.skip(str(error))


def queue_of(backend):
    if backend == "host":
        return usm.SyclQueue("host:cpu:0", property="in_order")
    devices = [device for device in usm.get_devices() if str(device.backend) != "host"]
    if not devices:
        assert not REQUIRE_SYCL, usm.backends()
        pytest.skip("no SYCL device")
    return usm.SyclQueue(devices[0], property="in_order")


@pytest.fixture(params=["host", "sycl"])
def queue(request):
    return queue_of(request.param)


@pytest.fixture(params=["host", "device", "shared"])
def kind(request):
    return request.param


def floats(values, queue, kind="shared", dtype="f"):
    data = struct.pack(f"{len(values)}{dtype}", *values)
    return ut.asarray(memoryview(data).cast(dtype), usm_type=kind, sycl_queue=queue)


def elements(array):
    return ut.asarray(array, usm_type="host").tolist() if isinstance(array, ut.usm_ndarray) else list(array)


def address(array):
    """Of the element with index zero."""
    interface = array.__sycl_usm_array_interface__
    return interface["data"][0] + interface["offset"] * int(interface["typestr"][2:])


def settled():
    gc.collect()
    return usm.live_allocations()


def test_strides_of_both_operands(queue):
    x, y = floats(range(8), queue), floats([0] * 4, queue)
    example.saxpy(2.0, x[::-2], y)
    assert y.tolist() == [14, 10, 6, 2]
    z = ut.zeros((4,), "f4", usm_type="shared", sycl_queue=queue)
    example.saxpy(-1.0, y, z[::-1])
    assert z.tolist() == [-2, -6, -10, -14]


def test_results_are_arrays_of_the_package(queue, kind):
    x = floats([0.5, 1.5, 1.5, 9.0, float("nan")], queue, kind)
    counts = example.histogram(x, 4, 0.0, 4.0)
    assert type(counts) is ut.usm_ndarray
    assert elements(counts) == [1, 2, 0, 0]
    assert counts.usm_type == kind and counts.sycl_device == queue.sycl_device
    assert counts.sycl_context == queue.sycl_context and counts.flags.writable
    counts[0] = 7
    assert elements(counts)[0] == 7


def test_views_are_the_same_memory(queue, kind):
    x = floats(range(6), queue, kind)
    back = example.reversed(x)
    assert elements(back) == [5, 4, 3, 2, 1, 0]
    assert back._pointer == x._pointer + 20 and back.strides == (-1,)
    back[0] = -1
    assert elements(x)[5] == -1
    assert elements(example.reversed(back[1:4])) == [2, 3, 4]


def test_the_same_object_comes_back(queue, kind):
    x = floats([1, 2], queue, kind)
    assert example.same(x) is x
    memory = um.MemoryUSMShared(8, queue=queue)
    view = example.same(memory)
    assert type(view) is ut.usm_ndarray and view._pointer == memory._pointer and view.nbytes == 8


def test_memory_of_the_extension(queue, kind):
    before = settled()
    name = queue.sycl_device.filter_string
    made = example.zeros([3, 4], name)
    assert type(made) is ut.usm_ndarray and made.usm_type == "device" and made.shape == (3, 4)
    assert made.sycl_device == queue.sycl_device
    assert elements(made) == [[0.0] * 4] * 3
    made[1, ::2] = 2.5
    assert elements(made)[1] == [2.5, 0.0, 2.5, 0.0]
    assert elements(example.reversed(made))[1] == [0.0, 2.5, 0.0, 2.5]
    copy = made.usm_data.tobytes()
    assert struct.unpack("12d", copy)[4:8] == (2.5, 0.0, 2.5, 0.0)
    del made
    assert settled() == before


def test_memory_of_the_pool_of_the_package(queue):
    x = floats([1.0, 2.0, 3.0, 4.0], queue, dtype="d")
    with um.use_pool(queue.sycl_device, limit_bytes=4 << 20) as pool:
        made = example.scaled(x[::-2], 10.0)
        assert made.tolist() == [40.0, 20.0] and made.sycl_queue == queue and made.usm_type == "shared"
        assert pool.stats()["current_bytes"] == made.nbytes == 16
        assert example.same(made) is made
        large = ut.broadcast_to(x[0], (1 << 20,))
        with pytest.raises(usm.USMAllocationError, match="4.0 MiB are allowed"):
            example.scaled(large, 1.0)
        del made
        assert pool.stats()["current_bytes"] == 0
        # An extension's own memory is not the pool's.
        own = example.zeros([2], queue.sycl_device.filter_string)
        assert pool.stats()["current_bytes"] == 0 and own.shape == (2,)


def test_exceptions_of_submodules_are_those_of_the_package(queue):
    x = floats([1.0, 2.0], queue)
    assert example.joined(x, x[:1]).tolist() == [1.0, 2.0, 1.0]
    elsewhere = floats([3.0], usm.SyclQueue(queue.sycl_device))
    with pytest.raises(ut.ExecutionPlacementError, match="is on another queue"):
        example.joined(x, elsewhere)


def test_no_owner_is_lost(queue, kind):
    before = settled()
    x = floats(range(4), queue, kind)
    gone = weakref.ref(x)
    view = example.reversed(example.reversed(x)[1:])
    del x
    gc.collect()
    assert gone() is not None and elements(view) == [0, 1, 2]
    del view
    assert settled() == before and gone() is None


def test_thousands_come_and_go(queue):
    before = settled()
    for n in range(2000):
        x = example.reversed(floats([n, 1], queue))
        assert example.place(x)[2]
    del x
    assert settled() == before


def refused(error, match, *arguments, call=example.saxpy):
    with pytest.raises(error, match=match) as caught:
        call(*arguments)
    return getattr(caught.value, "__notes__", [])


def test_errors_name_the_argument(queue):
    x, y = floats([1, 2], queue), floats([3, 4], queue)
    d = floats([1, 2], queue, dtype="d")
    assert refused(TypeError, "^dtype: found float64, allowed is float32", 1.0, d, y) == ["while processing 'x'"]
    assert refused(TypeError, "^dtype: found float64, allowed is float32", 1.0, x, d) == ["while processing 'y'"]
    assert refused(TypeError, "^found list, allowed is an array", 1.0, [1.0], y) == ["while processing 'x'"]
    refused(ValueError, "^x: found shape", 1.0, x[:1], y)

    class Wrong:
        __sycl_usm_array_interface__ = {**x.__sycl_usm_array_interface__, "typestr": "|V3"}

    assert refused(ValueError, "^typestr", 1.0, Wrong(), y) == ["while processing 'x'"]
    refused(TypeError, "not accessible to host code", 1.0, ut.asarray(x, usm_type="device"), y)


def test_read_only_memory(queue):
    x = floats([1, 2], queue)

    class ReadOnly:
        owner = x
        __sycl_usm_array_interface__ = {
            **x.__sycl_usm_array_interface__,
            "data": (x._pointer, True),
        }

    assert refused(ValueError, "^data: found a read-only array", 1.0, x, ReadOnly()) == ["while processing 'y'"]
    view = example.reversed(ReadOnly())
    assert not view.flags.writable and not example.place(view)[2]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_guards_of_both_copies_see_each_other(queue):
    x = floats([1, 2, 3], queue, dtype="d")
    seen = []

    def use():
        for attempt in (lambda: x.__setitem__(0, 5.0), x.tolist, lambda: example.saxpy(1.0, y, y)):
            try:
                attempt()
            except BufferError as error:
                seen.append(str(error))

    y = floats([1, 2], queue)
    example.hold(x, use)
    assert len(seen) == 3, seen
    x[0] = 5.0
    assert x.tolist() == [5, 2, 3]
    with pytest.raises(BufferError):
        example.hold(x, lambda: example.hold(x[:1], print))


def test_exceptions_are_those_of_the_package(queue):
    with pytest.raises(usm.SyclDeviceCreationError):
        example.zeros([1], "level_zero:gpu:77")
    with pytest.raises(usm.USMAllocationError):
        example.zeros([1 << 50], queue.sycl_device.filter_string)


def test_threads(queue):
    x = floats(range(1000), queue)
    failed = []

    def work(n):
        try:
            y = floats([n] * 1000, queue)
            for _ in range(20):
                example.saxpy(1.0, x, y)
            assert y[999:].tolist() == [n + 20 * 999]
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed


def test_arrays_of_dpctl(kind):
    dpctl = module("dpctl", REQUIRE_SYCL)
    memory = module("dpctl.memory", REQUIRE_SYCL)
    queue = queue_of("sycl")
    theirs = getattr(memory, f"MemoryUSM{kind.capitalize()}")(16, queue=dpctl.SyclQueue(queue._get_capsule()))
    theirs.copy_from_host(bytes(range(16)))
    view = example.reversed(theirs)
    assert view.dtype == "uint8" and elements(view) == list(range(15, -1, -1))
    back = memory.as_usm_memory(example.zeros([2]))
    assert back.nbytes == 16


def test_arrays_of_dpnp(kind):
    dpnp = module("dpnp", REQUIRE_PEERS)
    queue_of("sycl")
    a = dpnp.arange(10, dtype="f4", usm_type=kind)
    theirs = a[1::2]
    a += 1  # pending when it is handed over
    counts = example.histogram(theirs, 5, 0.0, 10.0)
    assert dpnp.asnumpy(module("dpnp.tensor", True).asarray(counts)).tolist() == [0, 1, 1, 1, 2]
    view = example.reversed(theirs)
    assert address(view) == address(theirs) + 4 * 8
    if kind != "device":
        out = dpnp.zeros(5, dtype="f4", usm_type=kind)
        example.saxpy(2.0, theirs, out[::-1])
        assert dpnp.asnumpy(out).tolist() == [20, 16, 12, 8, 4]


def test_an_extension_that_is_imported_first():
    code = """
import usm_pyext_example as example
a = example.zeros([2])
import sys
assert "usm.tensor" in sys.modules
import usm.tensor as ut
assert type(a) is ut.usm_ndarray
b = ut.zeros(3, "f4", usm_type="shared")
example.saxpy(1.0, b, ut.zeros(3, "f4", usm_type="shared"))
keep = [example.reversed(b), example.zeros([5])]   # alive at interpreter shutdown
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_package_that_does_not_fit():
    code = """
import usm._usm
def other():
    raise ImportError("no such interface")
usm._usm._c_api = other
import usm.tensor as ut
import usm_pyext_example as example
try:
    example.same(ut.zeros(3, "f4", usm_type="shared"))
except ImportError as error:
    assert "no such interface" in str(error)
else:
    raise SystemExit("accepted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
