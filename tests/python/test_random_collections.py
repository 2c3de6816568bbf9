"""Random graphs of objects under the collector of Python: nothing in use is taken, and each dead cycle is freed.

``USM_TEST_COLLECTIONS`` has the number of operations on each backend.
"""

import pytest

from support import figures, object_graphs, requirements, rounds

OPERATIONS = rounds.number_of("USM_TEST_COLLECTIONS", 16_000)


@pytest.mark.lengthy
@pytest.mark.parametrize("backend", ["host", "sycl"])
def test_graphs_under_the_collector(backend):
    device = requirements.device_of(backend).filter_string
    happened = rounds.run("support.object_graphs", backend, -(-OPERATIONS // object_graphs.OPERATIONS))
    assert happened["operations"] >= OPERATIONS and happened["nodes"] and happened["finalizers"]
    figures.add(
        f"{happened['operations']:,} operations on random graphs of {happened['nodes']:,} nodes on {device}, "
        "0 early finalisations, 0 leaked cycles"
    )
