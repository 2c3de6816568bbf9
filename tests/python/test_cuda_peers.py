"""PyTorch, CuPy, Numba and JAX on a GPU: memory both ways without a copy, and kernels in the order of our queues."""

import gc
import warnings
from types import ModuleType

import pytest

import usm
import usm.tensor as ut

from support import requirements
from support.narrow import NARROW
from support.peers import keep_to_the_first_gpu

REQUIRED = requirements.REQUIRE_CUDA and requirements.REQUIRE_PEERS


def peer(name: str, has_gpu) -> ModuleType:
    module = requirements.module(name, required=REQUIRED)
    try:
        has = has_gpu(module)
    except Exception as error:  # each library has its own
        requirements.missing(f"a GPU of {name}", str(error), required=REQUIRED)
    if not has:
        requirements.missing(f"a GPU of {name}", "it sees none", required=REQUIRED)
    return module


@pytest.fixture
def torch(cuda_queue):
    return peer("torch", lambda torch: torch.cuda.is_available())


@pytest.fixture
def cupy(cuda_queue):
    return peer("cupy", lambda cupy: cupy.cuda.runtime.getDeviceCount() > 0)


@pytest.fixture
def cuda(cuda_queue):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Numba itself, with new releases of NumPy
        peer("numba", lambda numba: True)
        return peer("numba.cuda", lambda cuda: cuda.is_available())


@pytest.fixture
def jax(cuda_queue):
    def has_gpu(jax):
        keep_to_the_first_gpu(jax)
        return bool(jax.devices("cuda"))

    return peer("jax", has_gpu)


@pytest.fixture
def array(cuda_queue):
    return ut.asarray([[1, 2, 3], [4, 5, 6]], "f4", usm_type="device", sycl_queue=cuda_queue)


def written_through(ours, theirs, address, fill, wait):
    """Each side sees what the other one writes."""
    assert address == ours._pointer
    ours[...] = 7
    ours.sycl_queue.wait()
    assert theirs.tolist() == ours.tolist()
    fill(theirs)
    wait()
    assert ours.tolist() == [[9.0] * 3] * 2


def test_torch(torch, array):
    for theirs in (torch.from_dlpack(array), torch.as_tensor(array, device="cuda")):
        written_through(array, theirs, theirs.data_ptr(), lambda t: t.fill_(9), torch.cuda.synchronize)
    theirs = torch.zeros(2, 3, device="cuda")
    for ours in (ut.from_dlpack(theirs), ut.asarray(theirs)):
        written_through(ours, theirs, theirs.data_ptr(), lambda t: t.fill_(9), torch.cuda.synchronize)
    assert ut.from_dlpack(theirs.T).strides == (1, 3)


def test_cupy(cupy, array, cuda_queue, usm_type):
    ours = ut.asarray(array, usm_type=usm_type)
    wait = cupy.cuda.Device().synchronize
    for theirs in (cupy.asarray(ours), *((cupy.from_dlpack(ours),) if usm_type == "device" else ())):
        written_through(ours, theirs, theirs.data.ptr, lambda t: t.fill(9), wait)
    theirs = cupy.zeros((2, 3), "f4")
    for ours in (ut.from_dlpack(theirs), ut.asarray(theirs)):
        written_through(ours, theirs, theirs.data.ptr, lambda t: t.fill(9), wait)
    managed = cupy.ndarray((2, 3), "f4", cupy.cuda.malloc_managed(24))
    assert ut.asarray(managed).usm_type == "shared"
    assert cupy.asarray(array[::-1, ::2]).tolist() == array[::-1, ::2].tolist()


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_dtypes_of_torch(torch, cuda_queue, dtype):
    ours = ut.asarray([1, 2.5, -3, 0.25], dtype, usm_type="device", sycl_queue=cuda_queue)
    theirs = torch.from_dlpack(ours)
    assert theirs.dtype is getattr(torch, dtype) and theirs.data_ptr() == ours._pointer
    assert theirs.float().tolist() == ours.tolist() == [1, 2.5, -3, 0.25]
    made = torch.tensor([0.5, -4, 2], device="cuda").to(getattr(torch, dtype))
    for ours in (ut.from_dlpack(made), ut.asarray(made)):
        assert (ours.dtype, ours._pointer, ours.tolist()) == (dtype, made.data_ptr(), [0.5, -4, 2])
    numbers = torch.linspace(-8, 8, 100_001, device="cuda")
    expected = numbers.to(getattr(torch, dtype)).float().tolist()
    assert ut.astype(ut.from_dlpack(numbers), dtype).tolist() == expected


def test_bfloat16_of_cupy(cupy, cuda_queue):
    bfloat16 = requirements.module("ml_dtypes", required=REQUIRED).bfloat16
    ours = ut.asarray([1, 2.5, -3], "bfloat16", usm_type="device", sycl_queue=cuda_queue)
    theirs = cupy.from_dlpack(ours)
    assert theirs.dtype == bfloat16 and theirs.data.ptr == ours._pointer
    assert theirs.astype("float32").tolist() == ours.tolist()
    made = cupy.asarray([0.5, -4, 2]).astype(bfloat16)
    for ours in (ut.from_dlpack(made), ut.asarray(made)):
        assert (ours.dtype, ours._pointer, ours.tolist()) == ("bfloat16", made.data.ptr, [0.5, -4, 2])


def test_numba(cuda, array):
    theirs = cuda.as_cuda_array(array)
    assert theirs.copy_to_host().tolist() == array.tolist()
    address = theirs.__cuda_array_interface__["data"][0]
    assert address == array._pointer
    made = cuda.device_array((2, 3), "f4")
    ours = ut.asarray(made)
    ours[...] = 3
    ours.sycl_queue.wait()  # numba knows neither the queue nor the operation
    assert made.copy_to_host().tolist() == [[3.0] * 3] * 2


def test_jax(jax, array):
    theirs = jax.dlpack.from_dlpack(array)
    assert theirs.unsafe_buffer_pointer() == array._pointer and theirs.tolist() == array.tolist()
    made = jax.numpy.arange(6.0, dtype="float32", device=jax.devices("cuda")[0])
    ours = ut.from_dlpack(made)
    assert ours._pointer == made.unsafe_buffer_pointer() and ours.tolist() == made.tolist()


def test_owners(torch, array):
    """The memory lives as long as one side has it, and goes once."""
    theirs = torch.from_dlpack(array)
    before = usm.live_allocations()
    del array
    gc.collect()
    assert theirs.tolist() == [[1, 2, 3], [4, 5, 6]] and usm.live_allocations() == before
    del theirs
    gc.collect()
    made = torch.ones(2, 3, device="cuda")
    ours = ut.from_dlpack(made)
    del made
    gc.collect()
    assert ours.tolist() == [[1.0] * 3] * 2


def test_kernels_of_torch_on_our_queue(torch, cuda_queue):
    """Many operations of both on one stream, without a wait between them."""
    stream = torch.cuda.ExternalStream(cuda_queue.native_stream)
    a = ut.zeros(1 << 22, "f4", sycl_queue=cuda_queue)
    with torch.cuda.stream(stream):
        theirs = torch.from_dlpack(a)
        for number in range(20):
            a[...] = number
            theirs += 1
            assert a[-1].item() == number + 1


def test_our_work_on_streams_of_others(torch, cupy):
    for stream, run in (
        (torch.cuda.Stream(), torch.cuda.stream),
        (cupy.cuda.Stream(non_blocking=True), lambda stream: stream),
    ):
        queue = usm.from_cuda_stream(stream)
        a = ut.zeros(1 << 22, "f4", sycl_queue=queue)
        with run(stream):
            theirs = torch.from_dlpack(a) if run is torch.cuda.stream else cupy.from_dlpack(a)
            for number in range(20):
                theirs += 1
                assert a[-1].item() == number + 1
        del theirs


def replayed(queue, run, replay, target, source, other):
    """Operations that `run` captures, replayed twice with new contents."""
    with run:
        target[...] = source.T
        other[...] = target
        with pytest.raises(usm.UsmError, match="captured"):
            target.tolist()
        with pytest.raises(usm.UsmError, match="captured"):
            ut.zeros(3, sycl_queue=queue)
    for value in (2, 3):
        source[0] = value
        queue.wait()
        replay()
        assert target[:, 0].tolist() == [value] * 3 and other[:, 0].tolist() == [value] * 3


def arrays_on(queue):
    source = ut.ones((2, 3), dtype="f4", usm_type="device", sycl_queue=queue)
    target = ut.zeros((3, 2), dtype="f4", usm_type="device", sycl_queue=queue)
    return target, source, ut.zeros((3, 2), dtype="f8", usm_type="device", sycl_queue=queue)


def test_graphs_of_torch(torch):
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    queue = usm.from_cuda_stream(stream)
    arrays = arrays_on(queue)
    queue.wait()

    def replay():
        with torch.cuda.stream(stream):
            graph.replay()

    replayed(queue, torch.cuda.graph(graph, stream=stream), replay, *arrays)
    # A tensor that PyTorch made and captures itself, between operations of ours.
    theirs = torch.zeros(4, device="cuda")
    ours = ut.asarray(theirs, sycl_queue=queue)
    result = ut.zeros(4, dtype="f4", usm_type="device", sycl_queue=queue)
    torch.cuda.synchronize()
    mixed = torch.cuda.CUDAGraph()
    with torch.cuda.graph(mixed, stream=stream):
        theirs += 1
        result[...] = ours
        theirs += 10
    for number in range(1, 4):
        with torch.cuda.stream(stream):
            mixed.replay()
        assert result.tolist() == [11 * number - 10] * 4 and ours.tolist() == [11 * number] * 4


def test_graphs_of_cupy(cupy):
    stream = cupy.cuda.Stream(non_blocking=True)
    queue = usm.from_cuda_stream(stream)
    arrays = arrays_on(queue)
    queue.wait()
    graphs = []

    class Captured:
        def __enter__(self):
            stream.begin_capture()

        def __exit__(self, *_):
            graphs.append(stream.end_capture())

    def replay():
        graphs[0].launch(stream)
        stream.synchronize()

    replayed(queue, Captured(), replay, *arrays)
