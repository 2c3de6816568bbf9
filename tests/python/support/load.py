"""Load for some time: `main` with the arguments DEVICE, SECONDS, LIVE and SEED.

Eight threads allocate, free, exchange, make garbage in cycles and raise exceptions. Twice, many allocations are live.
After its first quarter the process neither grows nor has more live memory. It prints how many allocations there were,
how long one took, and how much memory the process had.
"""

import gc
import importlib.util
import json
import mmap
import random
import statistics
import sys
import threading
import time
from typing import Any

import usm
import usm.memory as um
import usm.tensor as ut

from .dlpack import Exporter
from .interface import Producer

THREADS = 8
KINDS = {"host": um.MemoryUSMHost, "device": um.MemoryUSMDevice, "shared": um.MemoryUSMShared}
SIZES = (1, 8, 64, 100, 1000, 4096, 10_000, 65_536, 300_000)
#: Arrays that a thread keeps.
KEPT = 32
#: Places for durations: sixteen for each power of two of nanoseconds.
PLACES = 16 * 64
#: Parts of the time at which many allocations are live.
MANY_AT = (0.1, 0.6)
#: What the last quarter may have more than the second one: memory of the process, and live allocations.
MORE_BYTES, MORE_PART, MORE_LIVE = 32 << 20, 0.05, THREADS * KEPT
HAS_DPCTL = importlib.util.find_spec("dpctl") is not None
HAS_NUMPY = importlib.util.find_spec("numpy") is not None


def place_of(duration_ns: int) -> int:
    power = max(0, duration_ns.bit_length() - 5)
    return 16 * power + (duration_ns >> power)


def longest_of(place: int) -> int:
    """The end of a place, in nanoseconds."""
    power = max(0, place // 16 - 1)
    return (place - 16 * power + 1) << power


def resident() -> int:
    with open("/proc/self/statm") as figures:
        return mmap.PAGESIZE * int(figures.read().split()[1])


class Worker(threading.Thread):
    def __init__(self, load: "Load", seed: int) -> None:
        super().__init__(daemon=True)
        self.load, self.choice = load, random.Random(seed)
        self.kept: list[tuple[Any, int]] = []
        self.durations = [0] * PLACES
        self.allocations = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        works = [self.allocate] * 14 + [self.keep] * 3 + [self.exchange, self.make_garbage, self.raise_exceptions]
        choice = self.choice
        try:
            while not self.load.stop.is_set():
                self.load.goes_on.wait()
                for _ in range(50):
                    works[int(choice.random() * len(works))]()
        except BaseException as error:
            self.error = error
            self.load.stop.set()
        self.kept.clear()

    def one_of(self, items: Any) -> Any:
        return items[int(self.choice.random() * len(items))]

    def allocate(self) -> None:
        kind, size, queue = KINDS[self.one_of(self.load.kinds)], self.one_of(SIZES), self.load.queue
        started = time.perf_counter_ns()
        memory = kind(size, queue=queue)
        del memory
        took = time.perf_counter_ns() - started
        self.durations[place_of(took)] += 1
        self.allocations += 1

    def keep(self) -> None:
        number = int(self.choice.random() * 1e9)
        shape = self.one_of((1, 10, (3, 5), 1000))
        array = ut.full(shape, number, "i8", usm_type=self.one_of(self.load.kinds), sycl_queue=self.load.queue)
        self.kept.append((array, number))
        self.allocations += 1
        if len(self.kept) > KEPT:
            array, number = self.kept.pop(int(self.choice.random() * KEPT))
            values = array[-1:].tolist()
            while isinstance(values, list):
                values = values[-1]
            assert values == number, f"found {values} in place of {number}"

    def exchange(self) -> None:
        array = ut.ones(5, "i4", usm_type=self.one_of(self.load.kinds), sycl_queue=self.load.queue)
        assert ut.asarray(Producer(array.__sycl_usm_array_interface__, array))._pointer == array._pointer
        if array.usm_type != "device":
            assert memoryview(array)[4] == 1
            assert ut.from_dlpack(Exporter(array))._pointer == array._pointer
        if self.load.dpctl is not None:
            theirs = self.load.dpctl.as_usm_memory(array)
            assert um.as_usm_memory(theirs)._pointer == array._pointer
            assert ut.usm_ndarray(16, "i4", buffer=self.load.memory_of_dpctl).size == 16
        self.allocations += 2

    def make_garbage(self) -> None:
        memory = KINDS["shared"](64, queue=self.load.queue)
        cycle: list[Any] = [memory, ut.zeros(3, sycl_queue=self.load.queue)]
        cycle.append(cycle)
        self.allocations += 2

    def raise_exceptions(self) -> None:
        array = ut.zeros(3, sycl_queue=self.load.queue)
        wrong = (
            lambda: um.MemoryUSMDevice(1 << 60, queue=self.load.queue),
            lambda: array["text"],
            lambda: array.__setitem__(7, 1),
            lambda: ut.empty((3, -1), sycl_queue=self.load.queue),
            lambda: ut.asarray(Producer({"version": 1}, array)),
        )
        try:
            self.one_of(wrong)()
        except (MemoryError, ValueError, TypeError, IndexError):
            pass
        else:
            raise AssertionError("nothing was refused")
        self.allocations += 1


class Load:
    def __init__(self, device: str, seed: int) -> None:
        self.queue = usm.SyclQueue(device)
        self.kinds = list(KINDS)
        self.stop, self.goes_on = threading.Event(), threading.Event()
        self.dpctl: Any = None
        if HAS_DPCTL and device.startswith(("opencl", "level_zero")):
            import dpctl
            import dpctl.memory

            self.dpctl, queue = dpctl.memory, dpctl.SyclQueue(device)
            # One for all threads: each allocation of dpctl 0.22 leaves 72 bytes behind for ever.
            self.memory_of_dpctl = dpctl.memory.MemoryUSMShared(64, queue=queue)
            self.queue = usm.SyclQueue(queue)
        self.workers = [Worker(self, seed + number) for number in range(THREADS)]

    def hold_many(self, count: int, pause: float) -> int:
        """Many live allocations at once, beside the other threads."""
        self.goes_on.clear()
        kinds = [KINDS[kind] for kind in self.kinds]
        many = [kinds[number % 3](32, queue=self.queue) for number in range(count)]
        live = usm.live_allocations()["count"]
        assert live >= count, live
        # What the pool keeps of it was used once: later uses are no growth.
        for memory in many:
            memory.memset(1)
        self.goes_on.set()
        time.sleep(pause)
        self.goes_on.clear()
        addresses = {memory._pointer for memory in many}
        assert len(addresses) == count, "two live allocations have one address"
        many.clear()
        self.goes_on.set()
        return live

    def run(self, seconds: float, live: int) -> dict[str, Any]:
        before = dict(usm.live_allocations())
        started, most, samples = time.monotonic(), 0, []
        waiting = list(MANY_AT)
        for worker in self.workers:
            worker.start()
        self.goes_on.set()
        while (part := (time.monotonic() - started) / seconds) < 1 and not self.stop.is_set():
            if waiting and part >= waiting[0]:
                waiting.pop(0)
                most = max(most, self.hold_many(live, seconds / 50))
            samples.append((part, resident(), usm.live_allocations()["count"]))
            gc.collect()
            time.sleep(seconds / 400)
        self.stop.set()
        for worker in self.workers:
            worker.join(60)
            assert not worker.is_alive(), "a thread hangs"
            if worker.error is not None:
                raise worker.error
        took = time.monotonic() - started
        assert not waiting, "the time was over before many allocations were live"
        until = time.monotonic() + 30
        while dict(usm.live_allocations()) != before:
            gc.collect()
            assert time.monotonic() < until, (before, usm.live_allocations())
        second = [sample for sample in samples if 0.25 <= sample[0] < 0.5]
        last = [sample for sample in samples if sample[0] >= 0.75]
        sizes = [statistics.median(size for _, size, _ in quarter) for quarter in (second, last)]
        counts = [statistics.median(count for _, _, count in quarter) for quarter in (second, last)]
        assert sizes[1] <= sizes[0] * (1 + MORE_PART) + MORE_BYTES, f"the process grew: {sizes}"
        assert counts[1] <= counts[0] + MORE_LIVE, f"live allocations grew: {counts}"
        allocations = sum(worker.allocations for worker in self.workers)
        return {
            "allocations": allocations + 2 * live,
            "rate": allocations / took,
            "p99.9_us": self.slowest(0.999),
            "median_us": self.slowest(0.5),
            "live": most,
            "resident": sizes,
            "counts": counts,
        }

    def slowest(self, part: float) -> float:
        """The duration of an allocation and its free that this part of them does not exceed, in microseconds."""
        sums = [sum(column) for column in zip(*(worker.durations for worker in self.workers), strict=True)]
        left = part * sum(sums)
        for place, count in enumerate(sums):
            left -= count
            if left <= 0:
                return longest_of(place) / 1000
        raise AssertionError("no allocation was timed")


def main() -> None:
    device, seconds, live, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    print(json.dumps(Load(device, seed).run(seconds, live)), flush=True)
