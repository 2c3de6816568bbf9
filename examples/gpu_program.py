"""A program for NVIDIA GPUs with its tests, which run without a GPU: a stand-in takes the place of the driver.

The stand-in interprets the kernels, delays operations at random within the order of the streams, refuses memory on
request, and counts what breaks a rule of CUDA: its *faults*. In a checkout of the project:

    cargo build --package cuda-loopback
    pip install "$wheel[numpy]" "nvidia-cuda-nvrtc-cu12==12.4.*"
    export USM_CUDA_DRIVER=target/debug/deps/libcuda_loopback.so
    python examples/gpu_program.py
"""

import ctypes
import os

import numpy as np

import usm
import usm.memory
import usm.program
import usm.tensor as ut

SOURCE = """
extern "C" __global__ void sum(const float *x, float *total, int count)
{
    __shared__ float part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < count ? x[i] : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) atomicAdd(total, part[0]);
}
"""


def gpu_sum(queue, numbers):
    """The program: the sum of a NumPy array, by a kernel on the GPU of the queue."""
    kernel = usm.program.create_program_from_source(queue, SOURCE).get_sycl_kernel("sum")
    x = ut.asarray(numbers, usm_type="device", sycl_queue=queue)
    total = ut.zeros(1, dtype="float32", usm_type="device", sycl_queue=queue)
    groups = -(-numbers.size // 64)
    queue.submit_async(kernel, [x, total, np.int32(numbers.size)], [groups * 64], [64])
    return float(total[0])  # the read waits for the kernel


def test_result(queue):
    numbers = np.arange(1000, dtype="float32")
    assert gpu_sum(queue, numbers) == numbers.sum()
    return "the sum is right"


def test_out_of_memory(queue):
    large = np.ones(1 << 24, dtype="float32")  # as much as the device has
    try:
        gpu_sum(queue, large)
    except usm.memory.USMAllocationError:
        assert gpu_sum(queue, large[:100]) == 100
        return "out of memory is an exception, and the program goes on"
    raise AssertionError("nobody told the caller")


def main():
    os.environ["CUDA_LOOPBACK_MEMORY_BYTES"] = str(64 << 20)  # the memory of the GPU
    driver = ctypes.CDLL(os.environ["USM_CUDA_DRIVER"])
    driver.cuda_loopback_fault_text.restype = ctypes.c_char_p
    queue = usm.SyclQueue("cuda:gpu:0")
    print(queue.sycl_device.name)
    print("ok:", test_result(queue))
    print("ok:", test_out_of_memory(queue))
    print("faults:", [driver.cuda_loopback_fault_text(i).decode() for i in range(driver.cuda_loopback_faults())])


if __name__ == "__main__":
    main()
