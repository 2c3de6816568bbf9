"""Random changes of valid objects on each path on which objects of others come in: no crash, no leak, no wrong array.

``USM_TEST_IMPORTS`` has the number of executions of each path on each backend.
"""

import pytest

from support import figures, import_paths, requirements, rounds

EXECUTIONS = rounds.number_of("USM_TEST_IMPORTS", 1_000)
ROUNDS = -(-EXECUTIONS // import_paths.EXECUTIONS)


@pytest.mark.lengthy
@pytest.mark.parametrize("backend", ["host", "sycl"])
def test_changed_objects(backend):
    device = requirements.device_of(backend)
    happened = rounds.run("support.import_paths", backend, ROUNDS)
    executions = ROUNDS * import_paths.EXECUTIONS
    for name in import_paths.PATHS:
        of_path = {outcome: happened[f"{name}: {outcome}"] for outcome in import_paths.OUTCOMES}
        assert sum(of_path.values()) == executions and of_path["refused"], (name, of_path)
        # Without a device of CUDA all of its memory is refused.
        assert of_path["accepted"] or (name == "CUDA dict" and device.backend != "cuda"), (name, of_path)
    accepted = sum(happened[f"{name}: accepted"] for name in import_paths.PATHS)
    figures.add(
        f"{executions:,} executions of each of {len(import_paths.PATHS)} paths on {device.filter_string}, "
        f"{accepted:,} accepted, 0 crashes, 0 outside of their allocation, 0 leaks"
    )
