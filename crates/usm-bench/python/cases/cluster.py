"""Dask over several processes of one machine: the same programs over chunks of this package and of NumPy.

Both have the workers of one cluster, and each the settings that its users have: those of dask for NumPy's chunks, those
of `usm.dask.LocalCluster` for ours. Chunks are in shared memory of the host, where NumPy computes both.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from case import Case, Contender, Measured

# Two workers of one thread: what two cores have.
WORKERS = 2
CHUNKS = 4
TASKS = 500


class Cluster:
    """A cluster, from the first case on."""

    client: Any = None

    @classmethod
    def get(cls) -> Any:
        if cls.client is None:
            import distributed

            import usm.dask

            cluster = usm.dask.LocalCluster(["host:cpu:0"] * WORKERS, dashboard_address=None)
            cls.client = distributed.Client(cluster)
            # Both modules are imported, and the first connections are there.
            for chunks in SIDES.values():
                for graph in GRAPHS.values():
                    finished(graph(placed(chunks, CHUNKS * 64)))
        return cls.client


def of_usm(block: Any) -> Any:
    import usm.tensor as ut

    return ut.asarray(block, usm_type="shared", device="host")


def of_numpy(block: Any) -> Any:
    return block


SIDES: dict[str, Callable[[Any], Any]] = {"usm": of_usm, "NumPy": of_numpy}
#: What dask plans rechunks by.
SETTINGS: dict[str, dict[str, Any]] = {"usm": {}, "NumPy": {"array.rechunk.threshold": 4}}


def placed(chunks: Callable[[Any], Any], side: int) -> Any:
    """A square array of float32 in chunks of whole rows, in the memory of the workers."""
    import dask.array as da

    rows = side // (CHUNKS * WORKERS)
    x = da.ones((side, side), chunks=(rows, side), dtype="f4").map_blocks(
        chunks, meta=chunks(da.ones((0, 0), dtype="f4").compute())
    )
    return finished(x)


def finished(x: Any) -> Any:
    """The array with its chunks computed, where they are."""
    from distributed import wait

    x = x.persist()
    wait(x)
    return x


def settings(name: str) -> Any:
    import dask

    return dask.config.set(SETTINGS[name])


def columns(x: Any) -> Any:
    return x.rechunk((x.shape[0], x.shape[1] // x.numblocks[0]))


def turned(x: Any) -> Any:
    return x.T.rechunk((x.shape[1] // x.numblocks[0], x.shape[0]))


GRAPHS: dict[str, Callable[[Any], Any]] = {
    "rows to columns": columns,
    "transpose and rechunk": turned,
    "x + 1": lambda x: x + 1,
    "sum": lambda x: x.sum(),
}


def computed(side: int, name: str, graph: Callable[[Any], Any]) -> Contender:
    """A graph over an array in the workers."""

    def set_up() -> Measured:
        Cluster.get()
        x = placed(SIDES[name], side)

        def run(_count: int) -> float:
            with settings(name):
                start = time.perf_counter_ns()
                result = finished(graph(x))
            taken = time.perf_counter_ns() - start
            del result
            return taken

        return run

    return Contender(name, set_up)


def moved(nbytes: int, name: str, gathers: bool) -> Contender:
    """An array of the client to the workers, or back."""

    def set_up() -> Measured:
        import numpy

        client = Cluster.get()
        array = SIDES[name](numpy.ones(nbytes // 4, "f4"))

        def run(_count: int) -> float:
            start = time.perf_counter_ns()
            there = client.scatter([array] * WORKERS, hash=False)
            if gathers:
                start = time.perf_counter_ns()
                client.gather(there)
            taken = time.perf_counter_ns() - start
            del there
            return taken

        return run

    return Contender(name, set_up)


def sent(side: int, name: str) -> Contender:
    """Bytes between all processes of this machine by TCP: those that workers send each other, above all."""

    def set_up() -> Measured:
        Cluster.get()
        x = placed(SIDES[name], side)

        def run(_count: int) -> float:
            before = loopback_bytes()
            with settings(name):
                result = finished(columns(x))
            moved = loopback_bytes() - before
            del result
            return moved

        return run

    return Contender(name, set_up)


def loopback_bytes() -> int:
    with open("/proc/net/dev") as devices:
        return next(int(line.split()[1]) for line in devices if line.split()[0] == "lo:")


def per_task(name: str) -> Contender:
    """The time of one of many small tasks."""

    def set_up() -> Measured:
        import dask.array as da

        Cluster.get()
        chunks = SIDES[name]
        x = da.ones(TASKS * 8, chunks=8, dtype="f4").map_blocks(chunks, meta=chunks(da.ones(0, dtype="f4").compute()))
        x = finished(x)

        def run(_count: int) -> float:
            start = time.perf_counter_ns()
            result = finished(x + 1)
            taken = time.perf_counter_ns() - start
            del result
            return taken / TASKS

        return run

    return Contender(name, set_up)


def close() -> None:
    """Ends the workers."""
    if Cluster.client is not None:
        with contextlib.suppress(Exception):
            Cluster.client.cluster.close(10)
            Cluster.client.close(10)
        Cluster.client = None


def cases(smoke: bool = False) -> Iterator[Case]:
    side = 16384 if not smoke else 512
    for title, graph in GRAPHS.items():
        contenders = [computed(side, name, graph) for name in SIDES]
        yield Case(f"cluster/{title}, 1 GiB", contenders, once=True)
    contenders = [sent(side, name) for name in SIDES]
    yield Case("cluster/bytes sent from rows to columns, 1 GiB", contenders, unit="B", once=True)
    for title, gathers in (("scatter", False), ("gather", True)):
        contenders = [moved(64 << 20, name, gathers) for name in SIDES]
        yield Case(f"cluster/{title}, 64 MiB for each worker", contenders, once=True)
    yield Case("cluster/a small task", [per_task(name) for name in SIDES], once=True)
