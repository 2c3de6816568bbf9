"""Operations in random order on four queues of one device, beside a model in NumPy: drops, exports, exceptions, Ctrl-C.

``USM_STRESS_OPERATIONS`` is the number of operations; the default is small.
"""

import gc
import os
import random
import signal

import pytest

import usm
import usm.tensor as ut

from support import requirements

OPERATIONS = int(os.environ.get("USM_STRESS_OPERATIONS", "1500"))
SHAPES = [(7,), (64, 33), (5, 8, 9), (300, 200), (1 << 19,)]
DTYPES = ["u1", "i4", "f4", "f8", "c16"]


class Interrupted(Exception):
    """Ctrl-C, at any moment of an operation."""


class Slots:
    """Arrays of ours, each with its elements in NumPy."""

    def __init__(self, np, queues, random):
        self.np, self.queues, self.random = np, queues, random
        self.pairs = []

    def queue(self):
        return self.random.choice(self.queues)

    def any(self):
        return self.random.randrange(len(self.pairs))

    def create(self):
        shape, dtype = self.random.choice(SHAPES), self.random.choice(DTYPES)
        kind, value = self.random.choice(["device", "device", "shared", "host"]), self.random.randrange(100)
        ours = ut.full(shape, value, dtype=dtype, usm_type=kind, sycl_queue=self.queue())
        self.pairs.append((ours, self.np.full(shape, value, dtype=dtype)))

    def part(self, ndim):
        return tuple(slice(self.random.randrange(3), None, self.random.choice([1, 2, -1])) for _ in range(ndim))

    def set(self):
        ours, model = self.pairs[self.any()]
        part, value = self.part(model.ndim), self.random.randrange(100)
        ours[part] = value
        model[part] = value

    def assign(self):
        """From any other array: another kind, queue, dtype."""
        (ours, model), (theirs, source) = self.pairs[self.any()], self.pairs[self.any()]
        if model.shape != source.shape or (model.dtype.kind != "c" and source.dtype.kind == "c"):
            return
        part = self.part(model.ndim)
        ours[part] = ut.astype(theirs[part], ours.dtype) if theirs.sycl_queue == ours.sycl_queue else ours[part]
        if theirs.sycl_queue == ours.sycl_queue:
            model[part] = source[part].astype(model.dtype)

    def turn(self):
        """A copy of a view with other strides, on another queue."""
        ours, model = self.pairs[self.any()]
        copy = ut.asarray(ours.T[::-1], copy=True, sycl_queue=self.queue())
        self.pairs.append((copy, model.T[::-1].copy()))

    def export(self):
        """There and back through a protocol, the first owner dropped."""
        at = self.any()
        ours, model = self.pairs[at]
        if self.random.random() < 0.5:
            self.pairs[at] = (ut.from_dlpack(ours), model)
        else:
            holder = type("Holder", (), {})()
            holder.__sycl_usm_array_interface__ = ours.__sycl_usm_array_interface__
            holder.owner = ours
            self.pairs[at] = (ut.asarray(holder), model)

    def host(self):
        """New elements from the host."""
        ours, model = self.pairs[self.any()]
        new = (self.np.arange(model.size) % 97).reshape(model.shape).astype(model.dtype)
        ours[...] = new
        model[...] = new

    def refused(self):
        ours, model = self.pairs[self.any()]
        for wrong in (lambda: ours[model.shape[0] + 5], lambda: ours.__setitem__(..., self.np.zeros((3, 1, 4, 1, 5)))):
            with pytest.raises((IndexError, ValueError, TypeError)):
                wrong()

    def drop(self):
        del self.pairs[self.any()]

    def check(self):
        ours, model = self.pairs[self.any()]
        assert self.np.array_equal(ut.asnumpy(ours), model)

    def element(self):
        ours, model = self.pairs[self.any()]
        at = tuple(self.random.randrange(length) for length in model.shape)
        assert complex(ours[at]) == complex(model[at])


STEPS = {
    "create": 4,
    "set": 6,
    "assign": 4,
    "turn": 2,
    "export": 3,
    "host": 3,
    "refused": 1,
    "drop": 4,
    "check": 3,
    "element": 4,
}


@pytest.mark.parametrize("seed", [1])
def test_random_operations(sycl_queue, seed):
    np = requirements.module("numpy", required=requirements.REQUIRE_SYCL)
    device = sycl_queue.sycl_device
    generator = random.Random(seed)
    gc.collect()
    before = usm.live_allocations()["count"]
    slots = Slots(np, [usm.SyclQueue(device, property="in_order") for _ in range(4)], generator)
    names = [name for name, weight in STEPS.items() for _ in range(weight)]
    interrupts = 0

    def interrupt(signum, frame):
        raise Interrupted

    previous = signal.signal(signal.SIGALRM, interrupt)
    # Python drops what an interrupt raises in a callback of the collector, and pytest reports it. Hypothesis has such
    # a callback.
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    try:
        for count in range(OPERATIONS):
            while len(slots.pairs) < 4:
                slots.create()
            if len(slots.pairs) > 24:
                slots.drop()
            name = generator.choice(names)
            if count % 50 != 49:
                getattr(slots, name)()
                continue
            # What was under way has unknown elements: all arrays go.
            try:
                signal.setitimer(signal.ITIMER_REAL, generator.random() * 2e-3)
                for _ in range(20):
                    slots.set()
                    slots.turn()
                    del slots.pairs[-1]
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                interrupts += 1
                slots.pairs.clear()
        for queue in slots.queues:
            queue.wait()
        for ours, model in slots.pairs:
            assert np.array_equal(ut.asnumpy(ours), model)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        gc.callbacks[:] = callbacks
    assert interrupts > 0
    slots.pairs.clear()
    gc.collect()
    assert usm.live_allocations()["count"] <= before + 1
