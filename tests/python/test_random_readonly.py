"""Random chains of operations from read-only memory: what is over the same memory is read-only, too.

``USM_TEST_READONLY_CHAINS`` has the number of chains on each backend.
"""

import pytest

from support import figures, readonly_chains, requirements, rounds

COUNT = rounds.number_of("USM_TEST_READONLY_CHAINS", 1_000)


@pytest.mark.lengthy
@pytest.mark.parametrize("backend", ["host", "sycl"])
def test_read_only_stays(backend):
    device = requirements.device_of(backend).filter_string
    happened = rounds.run("support.readonly_chains", backend, -(-COUNT // readonly_chains.CHAINS))
    chains, views, copies = happened.pop("chains"), happened.pop("views"), happened.pop("copies")
    assert chains >= COUNT and views > chains and copies
    figures.add(
        f"{chains:,} chains of up to {readonly_chains.LONGEST} of {len(happened)} operations on {device}, "
        f"{views:,} views, 0 writable"
    )
