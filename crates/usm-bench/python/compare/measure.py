"""Measuring: cases one after the other, the contenders of a case in turn, round by round."""

import contextlib
import json
import random
import select
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from record import OURS, Case, Contender, digits, ratios, readable, summary

# Seconds that an answer may take. A copy of another library has been seen to wait for ever, in the driver's threads.
PATIENCE = 300.0
LEAST_ROUNDS = 3


@dataclass(frozen=True)
class Effort:
    """A sample takes at least `sample_ns`; a case ends after `rounds` or `seconds`; all cases share `total` seconds. A
    contender that has taken `contender_seconds` of a case takes no more samples there. After `limit` seconds no case
    begins."""

    sample_ns: float = 5e6
    rounds: int = 31
    seconds: float = 6.0
    long_cases: bool = True
    processes: int = 1000
    total: float = float("inf")
    contender_seconds: float = float("inf")
    limit: float = float("inf")


FULL = Effort()
QUICK = Effort(sample_ns=1e6, rounds=15, seconds=0.25, long_cases=False, processes=1, total=140.0)
# A GPU is there for minutes.
DEVICE = Effort(sample_ns=1.5e6, rounds=21, seconds=1.5, total=170.0, contender_seconds=0.4, limit=215.0)
DEVICE_QUICK = Effort(sample_ns=1e6, rounds=9, seconds=0.5, total=60.0, contender_seconds=0.2, limit=90.0)
# One round, which shows that everything runs.
SMOKE = Effort(sample_ns=0.0, rounds=1, seconds=1.0)


class WorkerError(Exception):
    """A program refused a request, ended, or did not answer."""


class Worker:
    """A program that has cases and runs their contenders: a request is a line of words, the answer a line of JSON."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None, patience: float = PATIENCE):
        self.command, self.environment, self.patience = command, environment, patience
        self.process: subprocess.Popen[str] | None = None

    def ask(self, *request: object) -> object:
        """Starts the program where it does not run. A program that fails is stopped; the next request starts it."""
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(self.command, env=self.environment, stdin=pipe, stdout=pipe, text=True)
        try:
            answer = json.loads(self._exchange(self.process, "\t".join(map(str, request))))
        except (WorkerError, OSError, ValueError) as error:
            self.stop()
            raise WorkerError(f"{' '.join(map(str, request))}: {error}") from error
        if isinstance(answer, dict) and "error" in answer:
            raise WorkerError(str(answer["error"]))
        return answer

    def _exchange(self, process: "subprocess.Popen[str]", request: str) -> str:
        assert process.stdin and process.stdout
        print(request, file=process.stdin, flush=True)
        if not select.select([process.stdout], [], [], self.patience)[0]:
            raise WorkerError(f"no answer within {self.patience:.0f} s")
        if line := process.stdout.readline():
            return line
        raise WorkerError(f"the program ended: {process.wait(5)}")

    def stop(self) -> None:
        """The end of its input ends a program; one that goes on is killed."""
        if self.process is None:
            return
        process, self.process = self.process, None
        try:
            process.communicate(timeout=5)
        except (subprocess.TimeoutExpired, OSError):
            process.kill()
            process.communicate()


def orders(count: int) -> Iterator[list[int]]:
    """The order of each round: none comes after itself, and all others come before it about equally often."""
    generator, order, last = random.Random(1), list(range(count)), None
    while True:
        generator.shuffle(order)
        if count > 1 and order[0] == last:
            other = generator.randrange(1, count)
            order[0], order[other] = order[other], order[0]
        last = order[-1] if order else None
        yield order


@dataclass
class Listed:
    """A case as the programs describe it, and the programs that have contenders for it."""

    case: str
    bytes: int
    unit: str
    workers: list[Worker] = field(default_factory=list)
    x: float | None = None
    long: bool = False
    once: bool = False
    processes: int = 1


@dataclass
class Entrant:
    """A contender of an open case; a sample of it takes `calls` calls."""

    worker: Worker
    record: Contender
    calls: int = 1
    seconds: float = 0.0

    def run(self) -> float | None:
        """Nanoseconds of all calls, or a value; None for a contender that is missing."""
        if self.record.missing is None:
            start = time.monotonic()
            try:
                return float(self.worker.ask("run", self.record.name, self.calls))  # type: ignore[arg-type]
            except WorkerError as error:
                self.record.fail(error)
            finally:
                self.seconds += time.monotonic() - start
        return None

    def calibrate(self, wanted: float) -> None:
        """Finds how many calls make a sample; this also warms everything up."""
        while (took := self.run()) is not None:
            if took >= 0.5 * wanted or self.calls >= 1 << 24:
                self.calls = max(1, -int(-wanted * self.calls // max(took, 1.0)))
                return
            self.calls *= 4


class Bench:
    """The programs that measure, and all the cases they have."""

    def __init__(self, workers: list[Worker], effort: Effort):
        self.workers, self.effort = workers, effort
        self.listed: dict[str, Listed] = {}
        for worker in workers:
            for described in worker.ask("list"):  # type: ignore[attr-defined]
                new = Listed(**described)
                known = self.listed.setdefault(new.case, new)
                known.workers.append(worker)
                if (known.unit, known.once) != (new.unit, new.once):
                    raise SystemExit(f"{new.case}: programs measure it in {known.unit} and in {new.unit}")
                # Whichever of them says so.
                known.long, known.bytes = known.long or new.long, max(known.bytes, new.bytes)
                known.processes = max(known.processes, new.processes)

    def chosen(self, pattern: str) -> list[str]:
        fits = (one for one in self.listed.values() if self.effort.long_cases or not one.long)
        return [one.case for one in fits if pattern in one.case]

    def measure(self, names: list[str]) -> list[Case]:
        start, cases = time.monotonic(), []
        for place, name in enumerate(names):
            if time.monotonic() - start > self.effort.limit:
                cases.append(self._left_out(self.listed[name]))
                continue
            share = max(0.0, self.effort.total - (time.monotonic() - start)) / (len(names) - place)
            cases.append(self._over_processes(self.listed[name], min(self.effort.seconds, share)))
            print(f"{place + 1}/{len(names)} {line(cases[-1])}")
        return cases

    def again(self, names: list[str]) -> list[Case]:
        """By new processes: some timings depend on the process, and stay the same while it lives."""
        self.stop()
        return self.measure(names)

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop()

    def _over_processes(self, listed: Listed, seconds: float) -> Case:
        parts = max(1, min(listed.processes, self.effort.processes))
        rounds, case = -(-self.effort.rounds // parts), None
        for _ in range(parts):
            if case:
                for worker in listed.workers:
                    worker.stop()
            found = self._once(listed, rounds, seconds / parts)
            case = join(case, found) if case else found
        assert case
        return case

    def _left_out(self, listed: Listed) -> Case:
        contender = Contender(OURS, [], f"the {self.effort.limit:.0f} s of the run were over")
        return Case(listed.case, listed.bytes, listed.unit, listed.x, [contender])

    def _opened(self, listed: Listed) -> Iterator[Entrant]:
        for worker in listed.workers:
            try:
                opened: list[dict] = worker.ask("open", listed.case)  # type: ignore[assignment]
            except WorkerError as error:
                opened = [{"name": f"program {self.workers.index(worker)}", "missing": str(error)}]
            for one in opened:
                yield Entrant(worker, Contender(one["name"], [], one.get("missing")))

    def _once(self, listed: Listed, rounds: int, seconds: float) -> Case:
        # Ours first in tables.
        entrants = sorted(self._opened(listed), key=lambda entrant: not entrant.record.is_ours)
        if not listed.once:
            for entrant in entrants:
                entrant.calibrate(self.effort.sample_ns)
        start = time.monotonic()
        for round_, order in zip(range(rounds), orders(len(entrants)), strict=False):
            if round_ >= LEAST_ROUNDS and time.monotonic() - start > seconds:
                break
            for entrant in (entrants[place] for place in order):
                if entrant.record.samples and entrant.seconds > self.effort.contender_seconds:
                    continue
                if (took := entrant.run()) is not None:
                    entrant.record.samples.append(took / entrant.calls)
        for worker in listed.workers:
            if worker.process:
                with contextlib.suppress(WorkerError):
                    answer = worker.ask("close")
                    # A fault of a case lasts as long as the program.
                    if isinstance(answer, dict) and answer.get("restart"):
                        worker.stop()
        return Case(listed.case, listed.bytes, listed.unit, listed.x, [entrant.record for entrant in entrants])


def join(case: Case, more: Case) -> Case:
    """Adds the samples of another process. A contender that failed in one of them has none."""
    for contender in case.contenders:
        other = more.contender(contender.name) or Contender("", [], "not there in a program that was started anew")
        if reason := contender.missing or other.missing:
            contender.fail(reason)
        contender.samples += other.samples if not contender.missing else []
    return case


def line(case: Case) -> str:
    """Ours, and how it compares to the others."""
    ours, words = case.ours(), []
    for contender in case.contenders:
        found = summary(contender.samples)
        ratio = ratios(ours, contender) if ours and ours is not contender else None
        if found is None:
            words.append(f"{contender.name} -")
        elif ratio:
            words.append(f"{digits(ratio.median)} × {contender.name}")
        else:
            words.append(f"{contender.name} {readable(found.median, case.unit)}")
    return f"{case.name}: {', '.join(words)}"
