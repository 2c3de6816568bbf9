"""The heat equation on a plate, by a kernel that Python hands to any device, with a plot.

The kernel is OpenCL C and CUDA C at once. The host device has no compiler, and computes the same step by slices.

    pip install "$wheel[sycl-cpu]"                     # matplotlib draws the plot where it is installed
    python examples/heat.py                            # the default device
    python examples/heat.py cuda:gpu:0 heat.svg        # another one, with a plot
"""

import importlib.util
import sys

import numpy as np

import usm
import usm.program
import usm.tensor as ut

SIZE, STEPS, RATE = 32, 100, 0.2

SOURCE = """
#ifdef __OPENCL_VERSION__
#define KERNEL kernel void
#define GLOBAL global
#define ROW get_global_id(0)
#define COLUMN get_global_id(1)
#else
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define ROW (blockIdx.y * blockDim.y + threadIdx.y)
#define COLUMN (blockIdx.x * blockDim.x + threadIdx.x)
#endif

KERNEL heat(GLOBAL const float *now, GLOBAL float *next, float rate, int size)
{
    int row = ROW, column = COLUMN, at = row * size + column;
    if (row == 0 || column == 0 || row == size - 1 || column == size - 1) return; /* the cold edge */
    next[at] = now[at] + rate * (now[at - 1] + now[at + 1] + now[at - size] + now[at + size] - 4 * now[at]);
}
"""


def by_kernel(queue):
    """A step on a device with a compiler."""
    heat = usm.program.create_program_from_source(queue, SOURCE).get_sycl_kernel("heat")
    rate, size = np.float32(RATE), np.int32(SIZE)
    return lambda now, next: queue.submit_async(heat, [now, next, rate, size], [SIZE, SIZE])


def by_slices(now, next):
    """The same step as arithmetic of whole arrays."""
    around = now[1:-1, :-2] + now[1:-1, 2:] + now[:-2, 1:-1] + now[2:, 1:-1]
    next[1:-1, 1:-1] = now[1:-1, 1:-1] + RATE * (around - 4 * now[1:-1, 1:-1])


def main(device=None, plot=None):
    queue = usm.SyclQueue(device) if device else usm.SyclQueue()
    step = by_slices if queue.backend.name == "host" else by_kernel(queue)
    now, next = (ut.zeros((SIZE, SIZE), dtype="float32", usm_type="device", sycl_queue=queue) for _ in range(2))
    now[4:12, 6:16] = 100
    for _ in range(STEPS):
        step(now, next)  # each step waits for the one before on the device, not in Python
        now, next = next, now
    plate = ut.asnumpy(now)
    hottest = [int(index) for index in np.unravel_index(plate.argmax(), plate.shape)]
    print(f"{STEPS} steps on {queue.sycl_device.filter_string}: at most {plate.max():.1f} degrees, at {hottest}")
    for row in plate[::2]:
        print("".join(" .:-=+*#%@"[int(heat / 3)] for heat in row).rstrip())
    if plot and importlib.util.find_spec("matplotlib"):
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.subplots()
        figure.colorbar(axes.imshow(plate, cmap="inferno"), label="degrees")
        figure.savefig(plot)
        print("wrote", plot)


if __name__ == "__main__":
    main(*sys.argv[1:])
