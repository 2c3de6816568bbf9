"""Memory of an NVIDIA GPU, shared with PyTorch and CuPy without a copy, told step by step; every claim is checked.

Needs an NVIDIA GPU with its driver, and PyTorch, CuPy or both. The exit code is not 0 when a claim fails.

    cargo xtask demo --cuda     installs PyTorch and CuPy first (several GB)
"""

import gc
import importlib
import sys

import usm
import usm.tensor as ut


class ClaimFailed(Exception):
    """Something this program says is not so."""


def claim(text, true):
    """Prints a claim that holds; raises for one that does not."""
    if not true:
        raise ClaimFailed(text)
    print(f"  [ok] {text}")


def chapter(title):
    print(f"\n{title}\n{'-' * len(title)}")


def optional(name):
    """A module, or None when it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def pointer(array):
    return array.__cuda_array_interface__["data"][0]


def memory(queue):
    chapter("Memory of each kind")
    for kind in ("device", "shared", "host"):
        a = ut.arange(6, dtype="f4", usm_type=kind, sycl_queue=queue)
        claim(f"{kind} memory at {pointer(a):#x} is in __cuda_array_interface__", a.tolist() == [0, 1, 2, 3, 4, 5])


def with_torch(queue, torch):
    chapter(f"PyTorch {torch.__version__}")
    a = ut.zeros((4, 6), dtype="f4", sycl_queue=queue)
    theirs = torch.as_tensor(a.T, device="cuda")
    claim("a tensor of PyTorch has the address and the strides of our view", theirs.data_ptr() == pointer(a.T))
    stream = torch.cuda.ExternalStream(queue.native_stream)
    with torch.cuda.stream(stream):
        theirs += 1
        claim("a kernel of PyTorch on our queue's stream runs in our order", float(a[3, 5]) == 1)
    theirs = torch.arange(10.0, device="cuda")[::3]
    ours = ut.asarray(theirs, sycl_queue=queue)
    ours[1] = 30
    queue.wait()
    claim("PyTorch sees our write to its memory", theirs.tolist() == [0, 30, 6, 9])
    del theirs
    gc.collect()
    claim("our array keeps its memory alive", ours.tolist() == [0, 30, 6, 9])


def with_cupy(queue, cupy):
    chapter(f"CuPy {cupy.__version__}")
    a = ut.arange(12, dtype="f8", sycl_queue=queue)[::-1]
    theirs = cupy.asarray(a)
    claim("an array of CuPy has our strides, which go down", theirs.strides == (-8,) and float(theirs[0]) == 11)
    theirs[0] = 5
    cupy.cuda.Device().synchronize()
    claim("we see the write of CuPy", float(a[0]) == 5)
    stream = cupy.cuda.Stream(non_blocking=True)
    on_stream = usm.from_cuda_stream(stream)
    with stream:
        theirs = cupy.full(1000, 7.0)
        ours = ut.asarray(theirs, sycl_queue=on_stream)
    claim("a queue on a stream of CuPy runs in its order", float(ours[-1]) == 7)


def main():
    gpus = [device for device in usm.get_devices() if device.backend == "cuda"]
    if not gpus:
        (reason,) = [backend["reason"] for backend in usm.backends() if backend["name"] == "cuda"]
        print(f"no GPU of the CUDA driver: {reason or 'the driver shows none'}", file=sys.stderr)
        return 1
    print(f"{gpus[0].filter_string}: {gpus[0].name}, {gpus[0].driver_version}")
    queue = usm.SyclQueue(gpus[0])
    memory(queue)
    torch, cupy = optional("torch"), optional("cupy")
    if torch is not None and torch.cuda.is_available():
        with_torch(queue, torch)
    if cupy is not None:
        with_cupy(queue, cupy)
    if torch is None and cupy is None:
        print("\nneither PyTorch nor CuPy is installed: cargo xtask demo --cuda", file=sys.stderr)
        return 1
    gc.collect()
    return 0


if __name__ == "__main__":
    sys.exit(main())
