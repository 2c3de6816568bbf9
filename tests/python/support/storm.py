"""Processes that share arrays, and end at any moment: `main` with SEED, ARRAYS, SECONDS, WORKERS, and DEVICE ….

Workers make arrays and give them to others, in chains of one to four. Each one checks all bytes, and writes a number
that the next one checks. Meanwhile workers return, raise, exit, leave without a word, and get SIGKILL. At the end, no
process may have memory of another one, no pickle may wait for a reader, and no process may be left.

A storm ends after so many arrays and so many seconds. The plan follows from the seed alone: who makes what, who gets
it, which workers end when and how. The moments of the system do not. The program prints the seed first, and what
happened last. It ends with 1 when something was wrong.
"""

import gc
import itertools
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

import usm
import usm.ipc
import usm.memory as um
import usm.tensor as ut

from . import figures, process

#: Commands that a worker has at most, without an answer.
WINDOW = 4
#: Each array with such a number comes with the end of a worker.
ARRAYS_PER_END = 25
#: The same for a long storm on GPUs, where workers take long to start.
ARRAYS_PER_END_ON_GPUS = 100
#: Elements at the start of each array, in which the processes of a chain write.
SLOTS = 8
#: Elements of 8 bytes: from the shortest shared array on, and more than a forked child has a copy of.
LENGTHS = [4096] * 6 + [5000] * 4 + [40_000] * 2 + [300_000]
KINDS = ["shared", "host", "device"]
#: How a worker ends; after these, its memory is there for others.
CALM = ["return", "raise", "exit"]
#: After these, it is gone.
ABRUPT = ["leave", "kill"]
#: How long a storm goes on at least.
MINUTES = float(os.environ.get("USM_TEST_STORM_MINUTES", "0"))
#: Whether storms are long.
ARE_LONG = MINUTES > 0 or "USM_TEST_STORM" in os.environ
#: Seconds without any answer that count as a hang.
SILENCE_S = 60
#: The environment of the processes of a run has its token here.
TOKEN = "USM_TEST_STORM_TOKEN"


# What workers do.


def _bytes_of(array: ut.usm_ndarray) -> bytes:
    return um.as_usm_memory(array).tobytes()


def _expected(number: int, length: int, hops: int) -> bytes:
    slots = [number + hop if hop < hops else -1 for hop in range(SLOTS)]
    return struct.pack(f"<{SLOTS}q", *slots) + struct.pack("<q", number) * (length - SLOTS)


def _sent(array: ut.usm_ndarray) -> tuple[bytes, bytes]:
    """An array, and a view of the same memory."""
    return bytes(ForkingPickler.dumps(array)), bytes(ForkingPickler.dumps(array[SLOTS::3]))


def _received(data: tuple[bytes, bytes]) -> tuple[ut.usm_ndarray, ut.usm_ndarray] | str:
    """Both, or why they are gone. Nothing waits for a reader afterwards."""
    found, reasons = [], []
    for part in data:
        try:
            found.append(ForkingPickler.loads(part))
        except usm.UsmError as error:
            reasons.append(str(error))
    return "; ".join(reasons) or (found[0], found[1])


def _made(number: int, length: int, kind: str, devices: list[str]) -> ut.usm_ndarray:
    array = ut.full(length, number, "int64", usm_type=kind, device=devices[number % len(devices)])
    array[:SLOTS] = -1
    return array


def _check(array: ut.usm_ndarray, number: int, hops: int) -> None:
    found, expected = _bytes_of(array), _expected(number, array.shape[0], hops)
    if found != expected:
        first = next(index for index, byte in enumerate(found) if byte != expected[index]) // 8
        wrong = struct.unpack_from("<q", found, first * 8)[0]
        raise AssertionError(f"array {number} after {hops} processes: found {wrong} at {first}")


def _check_kept(kept: dict[int, ut.usm_ndarray], number: int) -> None:
    """Others may have written to the slots."""
    array = kept.pop(number)
    if _bytes_of(array[SLOTS:]) != struct.pack("<q", number) * (array.shape[0] - SLOTS):
        raise AssertionError(f"array {number} has other bytes while it is kept")


def _shared_files() -> tuple[int, int]:
    """Descriptors and mappings of this process that are of shared memory."""
    descriptors = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            descriptors += "memfd:usm" in os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            pass
    with open("/proc/self/maps") as maps:
        return descriptors, sum("memfd:usm" in line for line in maps)


def _counts() -> tuple[int, int, int]:
    gc.collect()
    um.trim_default_pool()
    return usm.ipc.pending(), *_shared_files()


def work(pipe: Connection, devices: list[str], seed: int) -> None:
    """A worker: answers commands until one of them ends it."""
    choice, kept = random.Random(seed), {}
    while pipe.poll(2 * SILENCE_S):
        number, command, *arguments = pipe.recv()
        if command == "make":
            kept[number] = array = _made(number, *arguments, devices)
            pipe.send((number, _sent(array)))
        elif command == "take":
            hops, is_last, data = arguments
            received = _received(data)
            if isinstance(received, str):
                pipe.send((number, received))
                continue
            array, view = received
            _check(array, number, hops)
            array[hops] = number + hops
            array.sycl_queue.wait()
            if view[0] != number or um.as_usm_memory(view)._pointer != array._pointer + 8 * SLOTS:
                raise AssertionError(f"array {number} came with a view of other memory")
            kept[number] = array
            pipe.send((number, None if is_last else _sent(array)))
        elif command == "drop":
            for kept_number in list(kept):
                _check_kept(kept, kept_number)
            received = array = view = None
            pipe.send((number, _counts()))
        elif command == "count":
            pipe.send((number, _counts()))
        elif command == "return":
            return
        elif command == "raise":
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            raise RuntimeError("as planned")
        elif command == "exit":
            sys.exit(3)
        elif command == "leave":
            os._exit(4)
        while len(kept) > choice.randrange(1, 40):
            _check_kept(kept, choice.choice(list(kept)))
    raise TimeoutError("no command came")


# What the coordinator does.


@dataclass
class Task:
    """An array on its way."""

    number: int
    length: int
    kind: str
    chain: list[int]
    ends: list[tuple[int, str, float]]
    hops: int = 0
    data: tuple[bytes, bytes] | None = None
    maker: "Worker | None" = None
    #: A process got the data, and ended before it answered.
    was_lost: bool = False


@dataclass
class Worker:
    """One process in the place of a worker."""

    process: BaseProcess
    pipe: Connection
    is_abrupt: bool = False
    is_over: bool = False
    asked: dict[int, Task | None] = field(default_factory=dict)


class WrongError(Exception):
    """The storm found something."""


def arrays_of_run(few: int) -> int:
    """How many arrays a storm has: the number of a long run, or a few."""
    return int(os.environ.get("USM_TEST_STORM", few))


def are_gpus(devices: list[str]) -> bool:
    return devices[0].startswith("cuda")


def arrays_per_end(devices: list[str]) -> int:
    return ARRAYS_PER_END_ON_GPUS if are_gpus(devices) and ARE_LONG else ARRAYS_PER_END


def _plan(seed: int, workers: int, devices: list[str]) -> Iterator[Task]:
    # Of CUDA, device memory alone has a form for other processes.
    kinds = ["device"] if are_gpus(devices) else KINDS
    choice = random.Random(seed)
    ways: list[str] = []
    for number in itertools.count():
        chain = choice.choices(range(workers), k=1 + choice.randrange(1, 5))
        task = Task(number, choice.choice(LENGTHS), choice.choice(kinds), chain, [])
        if (number + 1) % arrays_per_end(devices) == 0:
            ways = ways or choice.sample(CALM + ABRUPT, k=5)
            task.ends.append((choice.randrange(workers), ways.pop(), choice.random() * 0.003))
        yield task


class Storm:
    def __init__(self, seed: int, arrays: int, seconds: float, workers: int, devices: list[str]) -> None:
        self.devices = devices
        self.choice = random.Random(seed + 1)
        self.plan, self.arrays, self.until = _plan(seed, workers, devices), arrays, time.monotonic() + seconds
        self.to_send: list[deque[Task]] = [deque() for _ in range(workers)]
        self.happened: Counter[str] = Counter()
        self.methods = ["forkserver"] * 8 + ["spawn"] + (["fork"] * 2 if devices[0].startswith("host") else [])
        self.workers = [self.start() for _ in range(workers)]
        self.last_answer = time.monotonic()

    def start(self) -> Worker:
        context = get_context(self.choice.choice(self.methods))
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self.devices, self.choice.randrange(1 << 30)), daemon=True)
        process.start()
        theirs.close()
        return Worker(process, ours)

    def has_more(self) -> bool:
        return self.happened["planned"] < self.arrays or time.monotonic() < self.until

    def run(self) -> None:
        left = 0
        while left or self.has_more():
            while self.has_more() and sum(map(len, self.to_send)) < len(self.workers) * WINDOW:
                task = next(self.plan)
                self.to_send[task.chain[0]].append(task)
                self.happened["planned"] += 1
                left += 1
            for index in range(len(self.workers)):
                while self.to_send[index] and len(self.workers[index].asked) < WINDOW:
                    self.send_task(index, self.to_send[index].popleft())
            left -= self.receive()

    def send_task(self, index: int, task: Task) -> None:
        ends, task.ends = task.ends, []
        if task.hops == 0:
            self.ask(index, task.number, task, "make", task.length, task.kind)
        else:
            is_last = task.hops == len(task.chain) - 1
            self.ask(index, task.number, task, "take", task.hops - 1, is_last, task.data)
        for victim, how, delay in ends:
            self.end(self.workers[victim], how, delay)

    def ask(self, index: int, number: int, task: Task | None, *command: Any) -> None:
        worker = self.workers[index]
        worker.asked[number] = task
        try:
            worker.pipe.send((number, *command))
        except OSError:
            # It has ended, which its sentinel tells.
            pass

    def end(self, worker: Worker, how: str, delay: float) -> None:
        self.happened[how] += 1
        if how in ABRUPT:
            worker.is_abrupt = True
        if how == "kill":
            time.sleep(delay)
            worker.process.kill()
        else:
            try:
                worker.pipe.send((-1, how))
            except OSError:
                pass

    def receive(self) -> int:
        """Takes what workers say, and replaces those that have ended. Returns how many chains are over."""
        over = 0
        by_pipe = {worker.pipe: index for index, worker in enumerate(self.workers)}
        ready = connection.wait(list(by_pipe), 1)
        if not ready and time.monotonic() - self.last_answer > SILENCE_S:
            raise WrongError(f"no answer in {SILENCE_S} seconds: {self.waits()}")
        for pipe in ready:
            index = by_pipe[pipe]  # type: ignore[index]
            worker = self.workers[index]
            self.last_answer = time.monotonic()
            try:
                number, answer = worker.pipe.recv()
            except (EOFError, OSError):
                over += self.replace(index)
                continue
            task = worker.asked.pop(number)
            if task is not None:
                over += self.go_on(worker, task, answer)
        return over

    def waits(self) -> list[tuple[int | None, list[int]]]:
        return [(worker.process.pid, list(worker.asked)) for worker in self.workers]

    def go_on(self, worker: Worker, task: Task, answer: tuple[bytes, bytes] | str | None) -> bool:
        """What comes after an answer of a worker. True at the end of a chain."""
        if isinstance(answer, str):
            maker = task.maker
            if not task.was_lost and (maker is None or not maker.is_abrupt):
                raise WrongError(f"array {task.number} after {task.hops} processes is gone: {answer}")
            self.happened["gone"] += 1
            return True
        self.happened["opened" if task.hops else "made"] += 1
        task.hops += 1
        task.data, task.maker, task.was_lost = answer, worker, False
        if task.hops == len(task.chain):
            return True
        self.to_send[task.chain[task.hops]].append(task)
        return False

    def replace(self, index: int) -> int:
        worker = self.workers[index]
        process = worker.process
        process.join(SILENCE_S)
        allowed = {"return": 0, "raise": 1, "exit": 3, "leave": 4, "kill": -signal.SIGKILL}
        if process.exitcode not in allowed.values():
            raise WrongError(f"worker {process.pid} ended with {process.exitcode}")
        if process.exitcode == 1 and not self.happened["raise"]:
            raise WrongError(f"worker {process.pid} raised")
        worker.is_over = True
        worker.pipe.close()
        # What it had not answered goes to the next one.
        for task in worker.asked.values():
            if task is not None:
                task.was_lost |= task.hops > 0
                self.to_send[index].appendleft(task)
        self.workers[index] = self.start()
        return 0

    def ask_all(self, command: str) -> list[tuple[int, int, int]]:
        answers = []
        for index, worker in enumerate(self.workers):
            self.ask(index, -2, None, command)
            if not worker.pipe.poll(SILENCE_S):
                raise WrongError(f"no answer to {command} in {SILENCE_S} seconds: {self.waits()}")
            number, answer = worker.pipe.recv()
            worker.asked.pop(number)
            answers.append(answer)
        return answers

    def finish(self) -> None:
        """All is dropped; then nobody has anything of others."""
        self.ask_all("drop")
        started = time.monotonic()
        # Who was told last drops last.
        while any(any(counts) for counts in self.ask_all("count")):
            if time.monotonic() - started > SILENCE_S:
                raise WrongError(f"pickles without a reader, files and mappings at the end: {self.ask_all('count')}")
            time.sleep(0.05)
        for worker in self.workers:
            worker.pipe.send((-1, "return"))
        for worker in self.workers:
            worker.process.join(SILENCE_S)
            if worker.process.exitcode != 0:
                raise WrongError(f"worker {worker.process.pid} ended with {worker.process.exitcode}")


def processes_of(token: str) -> dict[int, str]:
    """The processes with a token in their environment, and their commands."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as environment:
                is_of_run = f"{TOKEN}={token}".encode() in environment.read().split(b"\0")
            with open(f"/proc/{name}/stat") as stat:
                is_zombie = stat.read().rpartition(")")[2].split()[0] == "Z"
            with open(f"/proc/{name}/cmdline") as command:
                words = command.read().replace("\0", " ")
        except OSError:
            continue
        if is_of_run and not is_zombie:
            found[int(name)] = words[-200:]
    return found


def check(seed: int, arrays: int, workers: int, devices: list[str], **environment: str) -> None:
    """Runs a storm in a process of its own, which must find nothing, and tells what happened."""
    folder = os.path.dirname(os.path.dirname(__file__))
    paths = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    seconds = 60 * MINUTES
    numbers = map(str, (seed, arrays, seconds, workers))
    done = subprocess.run(
        [sys.executable, "-c", "from support.storm import main; main()", *numbers, *devices],
        cwd=folder,
        env=os.environ | {TOKEN: f"{os.getpid()}-{devices[0]}", "PYTHONPATH": paths} | environment,
        capture_output=True,
        text=True,
        timeout=process.LIMIT_S + arrays / 20 + 2 * seconds,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, f"USM_TEST_SEED={seed}\n{done.stdout}\n{done.stderr}"
    assert done.stderr == ""
    happened = json.loads(done.stdout.splitlines()[-1])
    ends = sum(happened.get(how, 0) for how in CALM + ABRUPT)
    planned = happened["planned"]
    assert happened["made"] >= planned >= arrays and ends == planned // arrays_per_end(devices), happened
    # Nothing is gone but what was on its way when its process was killed.
    abrupt = sum(happened.get(how, 0) for how in ABRUPT)
    assert happened.get("gone", 0) <= abrupt * 2 * workers * WINDOW, happened
    figures.add(
        f"{planned:,} arrays of {workers} processes on {', '.join(devices)}, opened {happened['opened']:,} times, "
        f"{ends:,} processes ended in the midst, {happened.get('kill', 0):,} by SIGKILL: "
        "0 leaks, 0 hangs, 0 wrong bytes"
    )


def _stop_forkserver() -> None:
    from multiprocessing import forkserver, resource_tracker

    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


def main() -> None:
    seed, arrays, seconds, workers = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    devices = sys.argv[5:]
    print(f"seed {seed}, {arrays} arrays and {seconds} s of {workers} processes on {devices}", flush=True)
    started = time.monotonic()
    get_context("forkserver").set_forkserver_preload(["support.storm"])
    storm = Storm(seed, arrays, seconds, workers, devices)
    try:
        storm.run()
        storm.finish()
        _stop_forkserver()
        others = {}
        # Those that go on for others which have ended need not be quick.
        until = time.monotonic() + SILENCE_S
        while time.monotonic() < until:
            others = processes_of(os.environ[TOKEN])
            del others[os.getpid()]
            if not others:
                break
            time.sleep(0.05)
        if others or any(_shared_files()):
            raise WrongError(f"processes {others} are left, and {_shared_files()} files and mappings")
    except WrongError as error:
        for worker in storm.workers:
            worker.process.kill()
        print(f"seed {seed}: {error}", flush=True)
        sys.exit(1)
    print(f"{time.monotonic() - started:.0f} s")
    print(json.dumps(storm.happened), flush=True)
