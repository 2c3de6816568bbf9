"""NumPy, dpnp and PyTorch compute on one allocation: each writes, and all others see it.

Needs a SYCL device, NumPy and dpnp; PyTorch takes part where it is installed.

    pip install "$wheel[sycl-cpu,dpnp]" torch
    python examples/one_allocation.py
"""

import gc
import importlib.util

import dpnp
import numpy as np

import usm
import usm.tensor as ut


def main():
    queue = next(usm.SyclQueue(device) for device in usm.get_devices() if device.backend not in ("host", "cuda"))
    ours = ut.zeros(6, dtype="float32", usm_type="shared", sycl_queue=queue)
    address = ours.__sycl_usm_array_interface__["data"][0]

    of_numpy = np.asarray(ours)
    of_dpnp = dpnp.from_dlpack(ours)  # `dpnp.asarray` would copy
    print("NumPy has our address:", of_numpy.ctypes.data == address)
    print("dpnp has our address:", of_dpnp.get_array()._pointer == address)

    of_numpy += np.arange(6, dtype="float32")  # host code
    print("NumPy wrote", ours.tolist())
    of_dpnp *= 10  # a kernel of dpnp on the device; it returns before its work is complete
    of_dpnp.sycl_queue.wait()  # views of NumPy and PyTorch do not wait by themselves
    print("dpnp wrote", of_numpy.tolist())

    if importlib.util.find_spec("torch"):
        import torch

        of_torch = torch.from_numpy(of_numpy)
        print("PyTorch has our address:", of_torch.data_ptr() == address)
        of_torch[::2] = -1
        print("PyTorch wrote", dpnp.asnumpy(of_dpnp).tolist())
        of_torch[::2] = of_torch.new_tensor([0, 20, 40])
        del of_torch

    # The sum of dpnp, of NumPy and of our array is the same, because the memory is.
    print("sums", float(of_dpnp.sum()), float(of_numpy.sum()), float(ours.sum()))

    # The memory lives until the last library drops it.
    del ours, of_numpy
    gc.collect()
    print("live while dpnp has it:", usm.live_allocations()["count"], of_dpnp.asnumpy()[5])
    del of_dpnp
    gc.collect()
    print("live at the end:", usm.live_allocations()["count"])


if __name__ == "__main__":
    main()
