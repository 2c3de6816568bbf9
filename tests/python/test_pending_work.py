"""Pending work of other libraries: a read of the memory through this package sees its result."""

import sys

import usm
import usm.tensor as ut

SIZE = 2_000_000
ROUNDS = 100


def keep_busy(array):
    """Submits far more work than ends while this returns."""
    for _ in range(ROUNDS):
        array += 1


def test_pending_on_imported_memory(dpt, usm_type):
    theirs = dpt.zeros(SIZE, dtype="i8", usm_type=usm_type)
    ours = ut.asarray(theirs)
    keep_busy(theirs)
    assert ours[-1].item() == ROUNDS
    keep_busy(theirs)
    ours[-1] = -ROUNDS
    assert dpt.asnumpy(theirs[-2:]).tolist() == [2 * ROUNDS, -ROUNDS]


def test_pending_on_published_memory(dpt, sycl_queue, usm_type):
    ours = ut.zeros(SIZE, "i8", usm_type=usm_type, sycl_queue=sycl_queue)
    theirs = dpt.asarray(ours)
    keep_busy(theirs)
    assert ours[-1].item() == ROUNDS
    keep_busy(theirs)
    assert ours.usm_data.tobytes()[-8:] == (2 * ROUNDS).to_bytes(8, "little")


def test_pending_when_a_buffer_is_taken(dpt, host_accessible):
    theirs = dpt.zeros(SIZE, dtype="i8", usm_type=host_accessible)
    ours = ut.asarray(theirs)
    keep_busy(theirs)
    with memoryview(ours) as view:
        assert view[SIZE - 1] == ROUNDS


def test_pending_on_a_queue_that_is_handed_over_after_the_memory(dpt, monkeypatch, host_accessible):
    ours = ut.zeros(SIZE, "i8", usm_type=host_accessible, sycl_queue=usm.SyclQueue())
    with monkeypatch.context() as without_dpctl:
        without_dpctl.setitem(sys.modules, "dpctl", None)
        interface = ours.__sycl_usm_array_interface__
    # Nobody else has the queue so far, and accesses do not wait for it.
    assert isinstance(interface["syclobj"], usm.SyclQueue)
    assert ours[-1].item() == 0
    theirs = dpt.asarray(ours)
    keep_busy(theirs)
    assert ours[-1].item() == ROUNDS
    keep_busy(theirs)
    with memoryview(ours) as view:
        assert view[SIZE - 1] == 2 * ROUNDS
