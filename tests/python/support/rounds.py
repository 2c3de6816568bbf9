"""Campaigns in short rounds, in one process for each processor.

A module of a campaign has a function `prepare(device, *arguments)`, which returns the function of a round. A round gets
random numbers of its own, returns how often things happened, and raises when something is wrong. A failure names the
seed of its round, with which ``USM_TEST_SEED`` begins.
"""

import ctypes
import faulthandler
import gc
import importlib
import json
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

import usm
import usm.memory as um

from . import requirements

#: The seed of the first round: the one of a failure, to see it again.
SEED = int(os.environ.get("USM_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
#: Seconds without a new round that count as a hang.
SILENCE_S = 60
#: What a worker may have more of at its end than after half of its rounds.
MOST_NEW_BLOCKS = 20_000
MOST_NEW_BYTES = 64 << 20
#: The same for blocks of malloc that are smaller than those which it maps, in bytes.
MOST_NEW_SMALL_BYTES = 2 << 20
#: Such blocks stay on the heap, however large the others were.
SMALL_BLOCKS = {"MALLOC_MMAP_THRESHOLD_": str(128 << 10)}
#: Files that stay for the next call, as connections and shared memory.
MOST_NEW_FILES = 64
#: Rounds after which a worker has its caches and pools.
WARM = 40
FOLDER = Path(__file__).parent.parent


def number_of(variable: str, few: int) -> int:
    """How much a campaign does: what a variable says, or a few for the gate."""
    return int(os.environ.get(variable, few))


def processors() -> int:
    return len(os.sched_getaffinity(0))


def environment_of(backend: str) -> dict[str, str]:
    """The variables of a process whose default device is on a backend."""
    paths = os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    device = requirements.device_of(backend).filter_string
    return os.environ | {"PYTHONPATH": paths, "USM_DEFAULT_DEVICE": device}


# What workers do.


def _resident() -> int:
    with open("/proc/self/statm") as figures:
        return mmap.PAGESIZE * int(figures.read().split()[1])


class _Mallinfo(ctypes.Structure):
    """What `mallinfo2` of glibc 2.33 returns."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def _small_blocks() -> int:
    """Bytes in small blocks of malloc."""
    look = ctypes.CDLL(None).mallinfo2
    look.restype = _Mallinfo
    return look().uordblks


def work() -> None:
    """A worker: every n-th round, and at its end a line with what happened."""
    faulthandler.enable()
    first, step, rounds, seed, file = map(int, sys.argv[1:6])
    module, device, *arguments = sys.argv[6:]
    begun = mmap.mmap(file, 0)
    play = importlib.import_module(module).prepare(device, *arguments)
    happened: Counter[str] = Counter()
    turns = range(first, rounds, step)
    half, sizes, small = None, [], []
    for turn, number in enumerate(turns):
        struct.pack_into("q", begun, 8 * first, number)
        happened.update(play(random.Random(seed + number)))
        if device.startswith("cuda"):
            # Otherwise freed memory stays pinned, up to a part of the machine's.
            um.trim_default_pool()
        sizes.append(_resident())
        small.append(_small_blocks())
        if turn == max(WARM, len(turns) // 2):
            gc.collect()
            half = sys.getallocatedblocks()
    if half is not None:
        gc.collect()
        blocks = sys.getallocatedblocks() - half
        assert blocks < MOST_NEW_BLOCKS, f"{blocks} more blocks of Python's than after half of the rounds"
        # What a round has for a time, and what a pool keeps for the next one, changes from round to round.
        quarter = len(turns) // 4
        for figures, most, what in (
            (sizes, MOST_NEW_BYTES, "resident bytes"),
            (small, MOST_NEW_SMALL_BYTES, "bytes in small blocks of malloc"),
        ):
            second, last = min(figures[quarter : 2 * quarter]), min(figures[-quarter:])
            assert last - second < most, f"{second} {what} in the second quarter of the rounds, {last} in the last one"
    print(json.dumps(happened), flush=True)


# What the test does.


class _Worker:
    def __init__(self, backend: str, numbers: list[int], names: list[str]) -> None:
        self.output, self.errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from support.rounds import work; work()", *map(str, numbers), *names],
            stdout=self.output,
            stderr=self.errors,
            cwd=FOLDER,
            env=environment_of(backend) | SMALL_BLOCKS,
            pass_fds=[numbers[-1]],
        )

    def texts(self) -> tuple[str, str]:
        self.output.seek(0)
        self.errors.seek(0)
        return self.output.read(), self.errors.read()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.output.close()
        self.errors.close()


def run(module: str, backend: str, rounds: int, *arguments: str) -> Counter[str]:
    """What happened in all rounds of a campaign on a backend."""
    device = requirements.device_of(backend).filter_string
    count = min(rounds, processors())
    with tempfile.TemporaryFile() as file:
        file.truncate(8 * count)
        begun = mmap.mmap(file.fileno(), 8 * count)
        names = [module, device, *arguments]
        workers = [_Worker(backend, [n, count, rounds, SEED, file.fileno()], names) for n in range(count)]
        try:
            return _watch(workers, begun)
        finally:
            for worker in workers:
                worker.close()
            begun.close()


def _watch(workers: list[_Worker], begun: mmap.mmap) -> Counter[str]:
    happened: Counter[str] = Counter()
    seen, changed = b"", time.monotonic()
    waiting = dict(enumerate(workers))
    while waiting:
        time.sleep(0.02)
        if seen != begun[:]:
            seen, changed = begun[:], time.monotonic()
        is_hanging = time.monotonic() - changed > SILENCE_S
        for place, worker in list(waiting.items()):
            if is_hanging:
                # It prints where its threads are.
                worker.process.send_signal(signal.SIGABRT)
                worker.process.wait()
            if worker.process.poll() is None:
                continue
            output, errors = worker.texts()
            if worker.process.returncode != 0 or errors:
                seed = SEED + struct.unpack_from("q", begun, 8 * place)[0]
                why = f"no new round in {SILENCE_S} s" if is_hanging else f"exit {worker.process.returncode}"
                pytest.fail(f"USM_TEST_SEED={seed}: {why}\n{output}\n{errors}", pytrace=False)
            happened.update(json.loads(output.splitlines()[-1]))
            del waiting[place]
    return happened


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


class Balance:
    """What rounds leave as it was: memory of the package, open files, and references to some objects."""

    def __init__(self, *objects: object, pool: um.MemoryPool | None = None) -> None:
        self.objects, self.pool = objects, pool
        self.before: tuple[dict[str, int], list[int]] | None = None
        self.files = 0

    def _now(self) -> tuple[dict[str, int], list[int]]:
        gc.collect()
        live = dict(usm.live_allocations())
        if self.pool is not None:
            # In place of what the pool itself has.
            live = {"count": self.pool.stats()["current_count"], "borrowed": live["borrowed"]}
        return live, [sys.getrefcount(obj) for obj in self.objects]

    def __enter__(self) -> None:
        while self.before is None:
            found = self._now()
            time.sleep(0.05)
            self.before = found if found == self._now() else None
            self.files = _open_files()

    def __exit__(self, kind: type | None, *_: object) -> None:
        """Fails where something is left."""
        if kind is None and self.before is not None:
            until = time.monotonic() + 10
            # Operations let go of their memory soon after they are complete.
            while (now := self._now()) != self.before and time.monotonic() < until:
                time.sleep(0.001)
            names = "live memory", f"references to {[type(obj).__name__ for obj in self.objects]}"
            for name, before, after in zip(names, self.before, now, strict=True):
                assert before == after, f"{name}: {before} before, {after} after"
            assert _open_files() <= self.files + MOST_NEW_FILES, (
                f"open files: {self.files} before, {_open_files()} after"
            )
