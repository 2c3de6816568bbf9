"""Memory of a GPU shared with PyTorch, CuPy, Numba and JAX: no copy, writes seen by both sides, owners kept alive.

These tests need a real GPU and the libraries. The stand-in of the driver is not enough: the libraries have their own.
"""

import gc
import os
import weakref

import pytest

import usm
import usm.tensor as ut

from support import requirements

N = 1 << 12


@pytest.fixture
def gpu() -> usm.SyclQueue:
    """A queue of its own on a real GPU."""
    if not requirements.REQUIRE_CUDA or "USM_CUDA_DRIVER" in os.environ:
        pytest.skip("needs a real GPU")
    return usm.SyclQueue(requirements.device_of("sycl"))


@pytest.fixture
def torch(gpu):
    torch = requirements.module("torch", required=False)
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return torch


@pytest.fixture
def cupy(gpu):
    return requirements.module("cupy", required=False)


@pytest.fixture
def numba_cuda(gpu):
    requirements.module("numba", required=False)
    from numba import cuda

    return cuda


@pytest.fixture
def jax(gpu):
    jax = requirements.module("jax", required=False)
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("this JAX has no GPU")
    return jax


def numbers(queue, usm_type="device"):
    return ut.arange(N, dtype="f4", usm_type=usm_type, sycl_queue=queue)


def address(array):
    return array.__cuda_array_interface__["data"][0]


def test_torch_sees_our_memory(gpu, torch, usm_type):
    a = numbers(gpu, usm_type)
    b = torch.as_tensor(a, device="cuda") if usm_type == "device" else torch.from_dlpack(a)
    assert b.data_ptr() == address(a)
    b += 1
    torch.cuda.synchronize()
    assert float(a[5]) == 6
    a[5] = 50
    gpu.wait()
    assert b[5].item() == 50
    kept = weakref.ref(a)
    del a
    gc.collect()
    assert kept() is not None or b.sum().item() == N * (N - 1) / 2 + N + 44
    del b


def test_we_see_memory_of_torch(gpu, torch):
    b = torch.arange(N, dtype=torch.float32, device="cuda")
    for a in (ut.asarray(b, sycl_queue=gpu), ut.from_dlpack(b)):
        assert address(a) == b.data_ptr() and a.usm_type == "device" and a.tolist()[:3] == b.tolist()[:3]
    b[7] = 70
    torch.cuda.synchronize()
    assert float(a[7]) == 70
    a[7] = 71
    a.sycl_queue.wait()
    assert b[7].item() == 71
    kept = weakref.ref(b)
    del b
    gc.collect()
    assert kept() is not None and float(a[8]) == 8


@pytest.mark.parametrize("step", [2, 3])
def test_strides_of_torch(gpu, torch, step):
    b = torch.arange(N, dtype=torch.float64, device="cuda").reshape(64, 64).t()[::step]
    a = ut.asarray(b, sycl_queue=gpu)
    assert address(a) == b.data_ptr() and ut.asnumpy(a).tolist() == b.tolist()
    back = torch.as_tensor(a, device="cuda")
    assert back.data_ptr() == b.data_ptr() and back.stride() == b.stride()


def test_cupy_both_ways(gpu, cupy):
    a = numbers(gpu)
    for b in (cupy.asarray(a), cupy.from_dlpack(a)):
        assert b.data.ptr == address(a)
        b *= 2
        cupy.cuda.Device().synchronize()
    assert float(a[3]) == 12
    c = cupy.arange(N, dtype="f8")[::-2]
    for ours in (ut.asarray(c, sycl_queue=gpu), ut.from_dlpack(c)):
        assert address(ours) == c.data.ptr
        assert (ut.asnumpy(ours) == cupy.asnumpy(c)).all()


def test_numba_both_ways(gpu, numba_cuda):
    @numba_cuda.jit
    def double(x):
        i = numba_cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    a = numbers(gpu)
    double[16, 256](numba_cuda.as_cuda_array(a))
    numba_cuda.synchronize()
    assert float(a[9]) == 18
    b = numba_cuda.to_device(list(range(8)))
    ours = ut.asarray(b, sycl_queue=gpu)
    assert address(ours) == b.__cuda_array_interface__["data"][0] and ours.tolist() == list(range(8))


def test_jax_both_ways(gpu, jax):
    a = numbers(gpu)
    b = jax.dlpack.from_dlpack(a)
    assert b.unsafe_buffer_pointer() == address(a) and float(b[4]) == 4
    c = jax.numpy.arange(16.0)
    ours = ut.from_dlpack(c)
    assert address(ours) == c.unsafe_buffer_pointer() and ours.tolist() == list(range(16))


def test_kernels_of_torch_run_in_the_order_of_our_queue(gpu, torch):
    stream = torch.cuda.ExternalStream(gpu.native_stream)
    a = ut.zeros(1 << 22, dtype="f4", sycl_queue=gpu)
    b = torch.as_tensor(a, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for round_ in range(20):
            a[...] = round_
            b += 1
            assert float(a[-1]) == round_ + 1


def test_a_queue_on_a_stream_of_torch(gpu, torch):
    stream = torch.cuda.Stream()
    queue = usm.from_cuda_stream(stream)
    assert queue.native_stream == stream.cuda_stream
    with torch.cuda.stream(stream):
        b = torch.zeros(1 << 22, device="cuda")
        for round_ in range(20):
            b.fill_(round_)
            a = ut.asarray(b, sycl_queue=queue)
            assert float(a[-1]) == round_


def test_a_queue_on_a_stream_of_cupy(gpu, cupy):
    stream = cupy.cuda.Stream(non_blocking=True)
    queue = usm.from_cuda_stream(stream)
    with stream:
        b = cupy.zeros(1 << 22)
        for round_ in range(20):
            b[...] = round_
            assert float(ut.asarray(b, sycl_queue=queue)[-1]) == round_
