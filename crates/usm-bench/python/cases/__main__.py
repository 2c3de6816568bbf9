"""The Python side of the comparison of `cargo xtask bench`: says which cases it has, and runs them when told to.

Requests are lines, words apart by tabs; each is answered by one line of JSON: `list`; `open CASE`;
`run CONTENDER COUNT`, which gives nanoseconds for all of the runs, or a value; `close`.
"""

import contextlib
import gc
import json
import sys
from collections.abc import Iterator

import alone
import arrays
import calls
import cluster
import compute
import device_calls
import device_compute
import device_copies
import device_processes
import device_sides
import elements
import memory
import process
import processes
import queues
from case import Case, Measured
from yardstick import beside

# Cases on device memory through queues run in a process of their own, which has USM_STRICT_DEVICE=1.
# Cases that depend on who knows a queue run in a process that never imports dpctl.
# Cases with a cluster of workers run in a process of their own, which ends with its workers.
SIDES = {
    "python": [memory, calls, arrays, elements, compute, process, processes],
    "queues": [queues],
    "alone": [alone],
    "cluster": [cluster],
}
# Cases on a CUDA device; with small operands for a smoke run.
DEVICE = {"cuda": False, "cuda-smoke": True}

# Their bounds are times.
TIMED = [memory, calls, alone]


def cases(side: str) -> Iterator[Case]:
    if side in DEVICE:
        yield from device_copies.cases(DEVICE[side])
        yield from device_calls.cases(DEVICE[side])
        yield from device_compute.cases(DEVICE[side])
        yield from device_processes.cases(DEVICE[side])
        return
    for module in SIDES[side]:
        found = module.cases()
        yield from beside(found) if module in TIMED else found


def answer(value: object) -> None:
    print(json.dumps(value), flush=True)


def opened(case: Case) -> dict[str, Measured]:
    """Sets the case up and answers which contenders can run."""
    ready: dict[str, Measured] = {}
    described = []
    for contender in case.contenders:
        try:
            measured = contender.set_up()
            measured(1)
        except Exception as error:  # A missing function is a finding, whatever it raises.
            described.append({"name": contender.name, "missing": f"{type(error).__name__}: {error}"})
        else:
            ready[contender.name] = measured
            described.append({"name": contender.name})
    answer(described)
    return ready


def ran(measured: Measured, count: int) -> object:
    try:
        return measured(count)
    except Exception as error:  # The contender is out, the others go on.
        return {"error": f"{type(error).__name__}: {error}"}


def left_usable() -> bool:
    """Gives memory back; false where a fault of a case lasts as long as this process."""
    with contextlib.suppress(Exception):
        device_sides.release()
    return device_sides.is_usable()


def main(side: str) -> None:
    if side in DEVICE:
        device_sides.queue()
    known = {case.name: case for case in cases(side)}
    ready: dict[str, Measured] = {}
    gc.disable()
    for line in sys.stdin:
        match line.rstrip("\n").split("\t"):
            case ["list"]:
                answer([case.description() for case in known.values()])
            case ["open", name] if name in known:
                ready = opened(known[name])
            case ["run", name, count] if name in ready:
                answer(ran(ready[name], int(count)))
            case ["close"]:
                ready = {}
                gc.collect()
                answer({"restart": side in DEVICE and not left_usable()})
            case _:
                answer({"error": f"no such request now: {line.rstrip()}"})
    cluster.close()


if __name__ == "__main__":
    main(sys.argv[1])
