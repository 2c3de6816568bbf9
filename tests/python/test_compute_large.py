"""More than 2³¹ elements in one operation of each provider: two gigabytes an operand, so not in every run."""

import pytest

import usm.tensor as ut

from support import requirements

pytestmark = [
    pytest.mark.indifferent,
    pytest.mark.skipif(
        not (requirements.REQUIRE_ALL_PEERS or requirements.REQUIRE_CUDA),
        reason="it takes 12 GB: cargo xtask verify peers runs it",
    ),
]

LEN = (1 << 31) + 5


def compute(queue, usm_type):
    requirements.fast_kernels(str(queue.sycl_device.backend))
    a = ut.ones(LEN, dtype="i1", usm_type=usm_type, sycl_queue=queue)
    a[-1], a[1 << 31] = 5, 7
    places = [0, 5, (1 << 31) - 1, 1 << 31, -2, -1]

    def at(array):
        return [int(array[place]) for place in places]

    assert at(a + a) == [2, 2, 2, 14, 2, 10]
    a += a
    assert at(a[::-1] * a) == [20, 4, 4, 28, 4, 20]
    assert int(ut.sum(a, dtype="i8")) == 2 * (LEN - 2) + 10 + 14
    assert int(ut.argmax(a)) == 1 << 31
    assert ut.maximum(a, ut.asarray(3, dtype="i1", usm_type=usm_type, sycl_queue=queue), out=a) is a
    assert at(a) == [3, 3, 3, 14, 3, 10]


@pytest.mark.parametrize("provider", ["numpy", "dpnp", "cupy", "torch"])
def test_large_arrays(sycl_queue, provider):
    on_gpu = provider in ("cupy", "torch")
    if on_gpu != (sycl_queue.native_stream is not None):
        pytest.skip("it computes on another device")
    requirements.module(provider, required=requirements.REQUIRE_PEERS)
    with ut.use_provider(provider):
        if provider == "dpnp":
            # Its kernels count in 32 bits.
            with pytest.raises(RuntimeError, match="exceeds the maximum value"):
                compute(sycl_queue, "device")
        else:
            compute(sycl_queue, "device" if on_gpu else "shared")


def test_large_arrays_by_a_copy(host_queue):
    requirements.module("numpy", required=requirements.REQUIRE_PEERS)
    compute(host_queue, "device")
