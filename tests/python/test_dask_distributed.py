"""Workers of distributed in processes of their own: one for each device, and arrays between them."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import usm
import usm.tensor as ut

from support import dask_tasks as tasks
from support import process, requirements

distributed = requirements.needed("distributed", required=requirements.REQUIRE_SYCL)
usm_dask = requirements.needed("usm.dask", required=True)
dask = requirements.needed("dask")
da = requirements.needed("dask.array")
np = requirements.needed("numpy")

# Threads and files of distributed, which it closes later than the test ends.
pytestmark = pytest.mark.filterwarnings("ignore")

#: Seconds for anything that a cluster does.
LIMIT = 30
DEVICES = ["host:cpu:0", "host:cpu:0"]


def cluster(**options: Any) -> Any:
    return usm_dask.LocalCluster(**{"devices": DEVICES, "dashboard_address": None, "silence_logs": 50} | options)


def until(is_so: Callable[[], bool], limit: float = LIMIT) -> None:
    deadline = time.monotonic() + limit
    while not is_so():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def shared_client() -> Iterator[Any]:
    with cluster() as started, distributed.Client(started, timeout=LIMIT) as client:
        yield client


@pytest.fixture
def client(shared_client: Any) -> Iterator[Any]:
    yield shared_client
    shared_client.cancel(list(shared_client.futures))


def addresses(client: Any) -> list[str]:
    return sorted(client.scheduler_info()["workers"])


@pytest.mark.parametrize("usm_type", ["host", "shared", "device"])
def test_workers_of_a_machine_have_the_same_memory(client, usm_type):
    first, second = addresses(client)
    made = client.submit(tasks.made, 100_000, usm_type, workers=[first], pure=False)
    view = client.submit(tasks.every_second, made, workers=[first])
    there = client.submit(tasks.seen, view, workers=[first], pure=False).result(timeout=LIMIT)
    here = client.submit(tasks.seen, view, workers=[second], pure=False).result(timeout=LIMIT)
    assert here["pid"] != there["pid"]
    assert here["strides"] == there["strides"] == (-2,)
    assert here["sum"] == there["sum"] == sum(range(1, 100_000, 2))
    assert here["usm_type"] == there["usm_type"] == usm_type
    assert here["borrowed"] == there["borrowed"] + 1, "memory of the other process, not a copy"
    assert there["writable"] and not here["writable"]
    assert set(client.run(tasks.pending).values()) == {0}


def test_small_arrays_are_copied(client):
    first, second = addresses(client)
    made = client.submit(tasks.made, 10, "device", workers=[first], pure=False)
    here = client.submit(tasks.seen, made, workers=[second], pure=False).result(timeout=LIMIT)
    assert (here["sum"], here["usm_type"], here["borrowed"], here["writable"]) == (45, "device", 0, True)


@pytest.mark.parametrize("usm_type", ["host", "shared", "device"])
def test_a_client_gets_a_copy(client, usm_type):
    made = client.submit(tasks.made, 100_000, usm_type, pure=False)
    result = made.result(timeout=LIMIT)
    assert type(result) is ut.usm_ndarray and result.flags.writable
    assert (result.usm_type, result.sycl_device.filter_string) == (usm_type, "host:cpu:0")
    result[...] = 0
    again = client.submit(tasks.seen, made, pure=False).result(timeout=LIMIT)
    assert again["sum"] == sum(range(100_000))


def test_a_scattered_array_is_a_copy(client):
    a = ut.ones(100_000, usm_type="shared", device="host")
    future = client.scatter(a, direct=True)
    a[...] = 0
    assert client.submit(tasks.seen, future, pure=False).result(timeout=LIMIT)["sum"] == 100_000


def test_dask_arrays(client):
    n = np.random.default_rng(1).random((600, 400))
    x = da.from_array(n, chunks=(150, 200)).to_backend("usm")
    found = ((x - x.mean(axis=0)).T @ x).rechunk((100, 400)).sum(axis=1).compute()
    assert type(found) is ut.usm_ndarray and found.usm_type == "device"
    np.testing.assert_allclose(ut.asnumpy(found), ((n - n.mean(0)).T @ n).sum(1))


@pytest.mark.parametrize(("method", "usm_type"), [(None, "device"), ("tasks", "device"), ("p2p", "shared")])
def test_rechunk_of_many_chunks(client, method, usm_type):
    """distributed's own method, which dask takes for them by default, reads host memory."""
    n = np.arange(3600.0).reshape(60, 60)
    x = da.from_array(n, chunks=(60, 3)).map_blocks(ut.asarray, usm_type=usm_type, meta=ut.empty((0, 0)))
    setting = {} if method is None else {"array.rechunk.method": method}
    with dask.config.set({"array.rechunk.threshold": 1} | setting):
        found = x.rechunk((3, 60))
    assert any(key.startswith("rechunk-p2p") for key in found.dask.layers) == (method == "p2p")
    found = (found + 1).compute()
    assert type(found) is ut.usm_ndarray and np.array_equal(ut.asnumpy(found), n + 1)


PROGRAM = """
import dask
import dask.array as da
import usm.dask

if __name__ == "__main__":
    with usm.dask.LocalCluster(devices=["host:cpu:0"] * 2, dashboard_address=None) as cluster, cluster.get_client():
        with dask.config.set({"array.backend": "usm"}):
            x = da.ones((400, 400), chunks=200)
        print(repr((x @ x + x.T).sum(axis=0)[:3].compute()))
"""


def test_a_program(tmp_path):
    """In a process of its own: a scheduler remembers its last messages, and in them the empty arrays of graphs."""
    done = process.run_program(PROGRAM, tmp_path, USM_DEFAULT_DEVICE="host:cpu:0")
    assert done.stdout == "usm_ndarray([160400., 160400., 160400.])\n", done.stdout + done.stderr


def test_memory_in_the_dashboard(client):
    made = client.submit(tasks.made, 1_000_000, "device", pure=False)
    distributed.wait(made, timeout=LIMIT)
    assert client.nbytes(summary=False)[made.key] == 8_000_000
    memory = client.cluster.scheduler.workers
    until(lambda: sum(worker.memory.managed for worker in memory.values()) >= 8_000_000)


def test_each_worker_has_its_device():
    devices = [device.filter_string for device in usm.get_devices()][:2]
    chosen = [usm.SyclDevice(devices[0]), devices[-1]]
    with cluster(devices=chosen) as started, distributed.Client(started, timeout=LIMIT) as client:
        assert sorted(client.run(tasks.default_device).values()) == sorted([devices[0], devices[-1]])
        by_device = {device: address for address, device in client.run(tasks.default_device).items()}
        for usm_type in ("shared", "device"):
            # An array of the client in the graph, and one of the other worker.
            embedded = ut.arange(100_000, dtype="float64", usm_type=usm_type, device="host")
            made = client.submit(tasks.made, 100_000, usm_type, workers=[by_device[devices[-1]]], pure=False)
            for argument in (embedded, made):
                for device, address in by_device.items():
                    seen = client.submit(tasks.seen, argument, workers=[address], pure=False).result(timeout=LIMIT)
                    assert (seen["device"], seen["sum"]) == (device, sum(range(100_000)))
                    assert seen["usm_type"] == usm_type


def test_a_worker_that_cannot_open_handles_gets_elements():
    with cluster() as started, distributed.Client(started, timeout=LIMIT) as client:
        first, second = addresses(client)
        client.run(tasks.limit_handles, 0.5, workers=[first])
        client.run(tasks.refuse_handles, 0.5, workers=[second])
        for count in (100_000, 100_001):
            made = client.submit(tasks.made, count, "shared", workers=[first], pure=False)
            seen = client.submit(tasks.seen, made, workers=[second], pure=False).result(timeout=LIMIT)
            assert (seen["sum"], seen["borrowed"], seen["writable"]) == (sum(range(count)), 0, True)
        until(lambda: set(client.run(tasks.pending).values()) == {0})


def test_a_killed_worker_is_replaced():
    with cluster() as started, distributed.Client(started, timeout=LIMIT) as client:
        client.run(tasks.limit_handles, 0.5)
        before = addresses(client)
        pids = client.run(os.getpid)
        x = da.arange(400_000, chunks=50_000).to_backend("usm").persist()
        distributed.wait(x, timeout=LIMIT)
        os.kill(pids[before[0]], signal.SIGKILL)
        # The lost chunks are computed again.
        total = (x[::-1] + x).sum().compute()
        assert float(total) == 399_999 * 400_000
        until(lambda: len(addresses(client)) == 2 and addresses(client) != before)
        assert set(client.run(tasks.default_device).values()) == {"host:cpu:0"}
        del x, total
        until(lambda: set(client.run(tasks.pending).values()) == {0})
        until(lambda: set(client.run(tasks.bytes_in_use).values()) == {0})


def test_device_memory_is_spilled_to_the_host_and_to_the_disk():
    options = {"devices": ["host:cpu:0"], "device_memory_limit": "3MB", "memory_limit": "500MB"}
    # The process itself needs more or less memory.
    settings = {f"distributed.worker.memory.{name}": False for name in ("spill", "pause", "terminate")}
    with (
        dask.config.set(settings | {"distributed.worker.memory.target": 0.02}),
        cluster(**options) as started,
        distributed.Client(started, timeout=LIMIT) as client,
    ):
        made = client.map(tasks.made, [125_000] * 15, ["device"] * 15, range(15), pure=False)
        distributed.wait(made, timeout=LIMIT)
        (found,) = client.run(tasks.places).values()
        assert found == {"device": 3, "host": 7, "disk": 5, "device_bytes": 3_000_000}
        back = client.submit(tasks.numbers, made[:2] + made[-2:], pure=False).result(timeout=LIMIT)
        assert back == [(0, "device"), (1, "device"), (13, "device"), (14, "device")]
        del made
        until(lambda: set(client.run(tasks.bytes_in_use).values()) == {0})


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"devices": []}, ValueError, "devices: found an empty sequence"),
        ({"devices": "host:cpu:0"}, TypeError, r"devices: found 'host:cpu:0', allowed is a sequence"),
        ({"devices": ["host:gpu:0"]}, usm.SyclDeviceCreationError, "host:gpu:0"),
        ({"n_workers": 3}, ValueError, "n_workers: found 3, allowed is no such argument"),
        ({"processes": False}, ValueError, "processes: found False"),
    ],
)
def test_arguments(options, error, text):
    with pytest.raises(error, match=text):
        usm_dask.LocalCluster(**options)


def test_names():
    assert dir(usm_dask) == ["LocalCluster"]
    with pytest.raises(AttributeError, match="no_such_name"):
        usm_dask.no_such_name  # noqa: B018
