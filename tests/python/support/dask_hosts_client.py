"""The client of `test_dask_hosts.py`: workers `a1` and `a2` are on one host, `b` is on another one."""

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import distributed
import numpy as np

import usm.tensor as ut

from support import dask_tasks as tasks

LIMIT = 60


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"this did not come: {what}")
        time.sleep(0.2)


def at_rest(client: Any) -> None:
    """Waits for the memory of the start: workers forget results a little later than the client."""
    until(lambda: set(client.run(tasks.pending).values()) == {0}, "no handles")
    until(lambda: set(client.run(tasks.bytes_in_use).values()) == {0}, "no memory in use")


def workers(client: Any) -> dict[str, str]:
    """The addresses by their names."""
    return {worker["name"]: address for address, worker in client.scheduler_info(n_workers=-1)["workers"].items()}


def computed(client: Any) -> None:
    n = np.random.default_rng(1).random((900, 600))
    x = da.from_array(n, chunks=(300, 200)).to_backend("usm")
    found = ((x - x.mean(axis=0)).T @ x).rechunk((150, 600)).sum(axis=1).compute()
    assert type(found) is ut.usm_ndarray
    np.testing.assert_allclose(ut.asnumpy(found), ((n - n.mean(0)).T @ n).sum(1))


def borrowed(client: Any, source: str, target: str) -> int:
    """How many arrays of other processes a worker has open when it gets an array of another worker."""
    at_rest(client)
    known = workers(client)
    made = client.submit(tasks.made, 100_000, "shared", workers=[known[source]], pure=False)
    seen = client.submit(tasks.seen, made, workers=[known[target]], pure=False).result(timeout=LIMIT)
    assert seen["sum"] == sum(range(100_000))
    return int(seen["borrowed"])


def main(scheduler: str) -> None:
    with distributed.Client(scheduler, timeout=LIMIT) as client:
        client.wait_for_workers(3, timeout=LIMIT)
        client.run(tasks.limit_handles, 1.0)
        computed(client)
        assert borrowed(client, "a1", "a2") == 1
        assert borrowed(client, "a1", "b") == borrowed(client, "b", "a2") == 0, "elements between hosts"
        at_rest(client)

        before = workers(client)
        kept = da.arange(600_000, chunks=50_000).to_backend("usm").persist()
        distributed.wait(kept, timeout=LIMIT)
        os.kill(client.run(os.getpid, workers=[before["a1"]])[before["a1"]], signal.SIGKILL)
        total = (kept[::-1] + kept).sum().compute()
        assert float(total) == 599_999 * 600_000
        until(lambda: len(workers(client)) == 3 and workers(client)["a1"] != before["a1"], "another worker a1")
        computed(client)
        del kept, total
        until(lambda: set(client.run(tasks.pending).values()) == {0}, "no handle")
        until(lambda: set(client.run(tasks.bytes_in_use).values()) == {0}, "the memory of the start again")
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1])
