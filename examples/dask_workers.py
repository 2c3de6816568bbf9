"""Dask over two workers: chunks are arrays of usm, and a worker hands a chunk on without a copy of its elements.

Each worker is a process with its own default device. Workers of one machine send each other a handle of the memory.

    pip install "$wheel[dask,numpy]"
    python examples/dask_workers.py [DEVICE DEVICE]     # two of the devices that `python -m usm` lists
"""

import sys

import dask.array as da
import distributed

import usm.dask
import usm.tensor as ut


def place(chunk):
    """What a worker sees of a chunk."""
    return type(chunk).__name__, chunk.usm_type, chunk.flags.writable


def main(devices):
    with (
        usm.dask.LocalCluster(devices=devices, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        print("workers:", len(client.scheduler_info()["workers"]))

        # A matrix of 16 chunks over both workers: Dask plans, and the library for the memory computes.
        x = da.ones((800, 800), chunks=200).to_backend("usm")
        y = (x + x.T * 2).persist()
        print("sum:", float(y.sum().compute()), "trace of y @ y:", float(da.trace(y @ y).compute()))

        # One worker makes an array, and the other one reads the same memory, which is read-only there.
        first, second = sorted(client.scheduler_info()["workers"])
        made = client.submit(ut.ones, 100_000, dtype="float32", usm_type="shared", workers=[first])
        print("made by the first: ", client.submit(place, made, workers=[first], pure=False).result())
        print("read by the second:", client.submit(place, made, workers=[second], pure=False).result())
        total = client.submit(lambda chunk: float(chunk.sum()), made, workers=[second])
        print("sum by the second: ", total.result())


if __name__ == "__main__":
    main(sys.argv[1:] or ["host:cpu:0", "host:cpu:0"])
