"""`usm.memory` beside `dpctl.memory`: the same names, arguments, results, exceptions; memory of one in the other."""

import pickle

import pytest

import usm
import usm.memory as um

from conftest import MEMORY_CLASSES

# What only Cython code has a use for.
CYTHON = {"__pyx_vtable__"}
# Python objects have these anyway; which of them a type spells out is its own business.
GENERIC = {"__reduce__"}


@pytest.fixture(params=["host", "device", "shared"])
def pair(request, dpctl, sycl_queue):
    """The classes of one kind in dpctl and here, with a queue for each."""
    import dpctl.memory

    name = MEMORY_CLASSES[request.param].__name__
    queue = dpctl.SyclQueue(sycl_queue._get_capsule())
    return (getattr(dpctl.memory, name), queue), (MEMORY_CLASSES[request.param], sycl_queue)


def outcome(job, *arguments):
    """The result, or the exception's type."""
    try:
        return job(*arguments)
    except Exception as error:
        return type(error)


def test_every_name_is_here(dpctl, pair):
    (theirs, _), (ours, _) = pair
    assert set(dpctl.memory.__all__) <= set(um.__all__)
    assert set(dir(theirs)) - set(dir(ours)) <= CYTHON | GENERIC


USES = {
    "nbytes": lambda m: (m.nbytes, m.size, len(m), m.__sizeof__()),
    "kind": lambda m: (m.get_usm_type(), m.get_usm_type(None), m.get_usm_type_enum()),
    "kind of a queue": lambda m: (m.get_usm_type(m.sycl_queue), m.get_usm_type(m.sycl_context)),
    "kind of nothing": lambda m: m.get_usm_type(3),
    "short names": lambda m: (m._queue == m.sycl_queue, m._context == m.sycl_context),
    "reference": lambda m: m.reference_obj,
    "round trip": lambda m: (m.copy_from_host(bytes(range(16))), m.tobytes(), bytes(m)),
    "part": lambda m: (m.memset(1), m.copy_from_host(b"abc"), m.tobytes()),
    "memset": lambda m: (m.memset(), m.tobytes(), m.memset(5), m.tobytes()),
    "memset of a word": lambda m: m.memset("x"),
    "to NumPy": lambda m: (m.memset(3), type(m.copy_to_host()), m.copy_to_host().dtype, m.copy_to_host().tolist()),
    "to a larger buffer": lambda m: (m.memset(3), m.copy_to_host(bytearray(20))),
    "to a smaller buffer": lambda m: m.copy_to_host(bytearray(15)),
    "to a read-only buffer": lambda m: m.copy_to_host(bytes(16)),
    "to no buffer": lambda m: m.copy_to_host(3),
    "from a larger buffer": lambda m: m.copy_from_host(bytes(17)),
    "from no buffer": lambda m: m.copy_from_host(3),
    "from no USM": lambda m: m.copy_from_device(3),
    "from larger USM": lambda m: m.copy_from_device(type(m)(17, queue=m.sycl_queue)),
    "from USM": lambda m: (m.memset(7), m.copy_from_device(copy := type(m)(m, copy=True)), copy.tobytes()),
    "another object": lambda m: (m == m, m == type(m)(m), hash(m) == hash(m), bool(m)),
    "a view": lambda m: type(m)(m)._pointer == m._pointer,
    "interface": lambda m: {k: v for k, v in m.__sycl_usm_array_interface__.items() if k not in ("data", "syclobj")},
    "pickle": lambda m: (
        m.memset(9),
        pickle.loads(pickle.dumps(m)).get_usm_type(),
        pickle.loads(pickle.dumps(m)).tobytes(),
    ),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_the_same_use_has_the_same_outcome(pair, numpy, use):
    theirs, ours = (outcome(use, of(16, queue=queue)) for of, queue in pair)
    assert theirs == ours


MAKES = {
    "nothing": lambda of, q: of(),
    "no bytes": lambda of, q: of(0, queue=q),
    "less": lambda of, q: of(-1, queue=q),
    "too much": lambda of, q: of(1 << 60, queue=q),
    "aligned": lambda of, q: of(16, alignment=64, queue=q)._pointer % 64,
    "not aligned": lambda of, q: of(16, alignment=-1, queue=q).nbytes,
    "alignment by position": lambda of, q: of(16, 64),
    "alignment of a word": lambda of, q: of(16, alignment="x"),
    "queue of a number": lambda of, q: of(16, queue=3),
    "of a subclass": lambda of, q: type("Sub", (of,), {})(16, queue=q).nbytes,
}


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_the_same_constructor_has_the_same_outcome(pair, make):
    theirs, ours = (outcome(make, of, queue) for of, queue in pair)
    if isinstance(theirs, type):
        # The class of our allocation error is our own.
        assert theirs.__name__ == ours.__name__
    else:
        assert theirs == ours


def test_objects_without_the_interface(dpctl):
    for module in (dpctl.memory, um):
        with pytest.raises(ValueError):
            module.as_usm_memory(object())


def test_memory_of_each_in_the_other(dpctl, pair):
    (theirs, their_queue), (ours, our_queue) = pair
    made = ours(32, queue=our_queue)
    made.copy_from_host(bytes(range(32)))
    taken = dpctl.memory.as_usm_memory(made)
    assert type(taken) is theirs and taken._pointer == made._pointer
    assert taken.tobytes() == bytes(range(32))
    assert theirs(made)._pointer == made._pointer
    part = dpctl.memory.as_usm_memory(made[8:12])
    assert (part._pointer, part.nbytes, part.tobytes()) == (made._pointer + 8, 4, bytes(range(8, 12)))

    made = theirs(32, queue=their_queue)
    made.copy_from_host(bytes(range(32)))
    taken = um.as_usm_memory(made)
    assert type(taken) is ours and taken._pointer == made._pointer
    assert taken.reference_obj is made and taken[1:].reference_obj is made
    assert taken.get_usm_type(made.sycl_queue) == taken.get_usm_type()
    taken[8:12].memset(0)
    assert made.tobytes() == bytes(range(8)) + bytes(4) + bytes(range(12, 32))
    target = ours(32, queue=our_queue)
    target.copy_from_device(made)
    assert target.tobytes() == made.tobytes()


def test_kind_in_a_context_that_does_not_know_the_memory(allocate, usm_type, queue):
    memory = allocate(usm_type, 8)
    assert memory.get_usm_type(queue) == usm_type
    if queue.sycl_device.backend != "host":
        elsewhere = usm.SyclQueue("host:cpu:0")
        assert memory.get_usm_type(elsewhere) == "unknown"
        assert memory.get_usm_type_enum(elsewhere) == 0


def test_both_allocation_errors_are_memory_errors(dpctl):
    assert issubclass(um.USMAllocationError, MemoryError)
