"""Arrays in Ray's object store: workers of a machine read them where they are."""

import json
import tempfile

import pytest

from support import process, requirements

PROGRAM = """
import json, ray
import usm.tensor as ut

ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20)


@ray.remote
def look(a):
    import usm.tensor as ut

    lines = [line for line in open("/proc/self/maps") if "/dev/shm" in line or "plasma" in line]
    ranges = [[int(end, 16) for end in line.split()[0].split("-")] for line in lines]
    is_in_store = any(first <= a._pointer < last for first, last in ranges)
    return a.usm_type, a.flags.writable, is_in_store, a.shape, a.strides, ut.asnumpy(a[-1]).tolist()


a = ut.reshape(ut.arange(40000, usm_type={kind!r}, device="host"), (200, 200))
print(json.dumps([ray.get(look.remote(ray.put(view))) for view in (a, a.T)]))
ray.shutdown()
"""


@pytest.mark.parametrize("kind", ["shared", "host", "device"])
def test_workers_read_arrays_in_the_object_store(kind):
    requirements.module("ray", required=requirements.REQUIRE_ALL_PEERS)
    # The names of its sockets allow short folders only.
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        done = process.run(PROGRAM.format(kind=kind), USM_CUDA="0", USM_SYCL_ROOT="/nowhere", RAY_TMPDIR=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    whole, transposed = json.loads(done.stdout.splitlines()[-1])
    is_in_store = kind != "device"
    # Objects of the store are read-only, as with NumPy; device memory is a copy.
    last = list(range(39800, 40000))
    assert whole == [kind, not is_in_store, is_in_store, [200, 200], [200, 1], last]
    assert transposed == [kind, not is_in_store, is_in_store, [200, 200], [1, 200], list(range(199, 40000, 200))]
