"""The queue of functions of several arrays: dpctl's rules, and dpctl's functions for them."""

import pytest

import usm
import usm.tensor as ut

CALLS = {
    "concat": lambda a, b: ut.concat([a, b]),
    "stack": lambda a, b: ut.stack([a, b]),
    "repeat": lambda a, b: ut.repeat(a, ut.astype(b, "i8")),
    "take": lambda a, b: ut.take(a, ut.astype(b, "i8")),
    "take_along_axis": lambda a, b: ut.take_along_axis(a, ut.astype(b, "i8")),
    "put": lambda a, b: ut.put(a, ut.astype(b, "i8"), 1),
    "put values": lambda a, b: ut.put(a, ut.astype(a, "i8"), b),
    "put_along_axis": lambda a, b: ut.put_along_axis(a, ut.astype(a, "i8"), b),
    "extract": lambda a, b: ut.extract(a, b),
    "place": lambda a, b: ut.place(a, b, a),
    "place values": lambda a, b: ut.place(a, a, b),
    "where": lambda a, b: ut.where(a, b, 1),
    "where values": lambda a, b: ut.where(a, a, b),
    "equal": lambda a, b: ut.equal(a, b),
    "less": lambda a, b: ut.less(a, b),
    "logical_or": lambda a, b: ut.logical_or(a, b),
    "bitwise_and": lambda a, b: ut.bitwise_and(ut.equal(a, 1), ut.equal(b, 1)),
    "isclose": lambda a, b: ut.isclose(a, b),
    "allclose": lambda a, b: ut.allclose(a, b),
    "out": lambda a, b: ut.min(a, axis=(), out=b),
}


@pytest.mark.parametrize("name", CALLS)
def test_arrays_of_two_queues_are_refused(queue, usm_type, name):
    other = usm.SyclQueue(queue.sycl_context, queue.sycl_device)
    a = ut.ones(3, sycl_queue=queue, usm_type=usm_type)
    b = ut.ones(3, sycl_queue=other, usm_type=usm_type)
    with pytest.raises(ut.ExecutionPlacementError, match="queue"):
        CALLS[name](a, b)
    assert a.tolist() == b.tolist() == [1.0] * 3
    CALLS[name](a, ut.astype(b, b.dtype, device=queue))


def test_the_error_is_a_value_error():
    assert issubclass(ut.ExecutionPlacementError, ValueError)
    assert (ut.ExecutionPlacementError.__module__, ut.ExecutionPlacementError.__name__) == (
        "usm.tensor",
        "ExecutionPlacementError",
    )


@pytest.mark.parametrize("first", ["host", "shared", "device"])
@pytest.mark.parametrize("second", ["host", "shared", "device"])
def test_the_kind_follows_from_all_arrays(queue, first, second):
    a = ut.ones(3, "i4", sycl_queue=queue, usm_type=first)
    b = ut.ones(3, "i4", sycl_queue=queue, usm_type=second)
    expected = ut.get_coerced_usm_type([first, second])
    made = [
        ut.concat([a, b]),
        ut.stack([a, b]),
        ut.take(a, b),
        ut.take_along_axis(a, b),
        ut.extract(a, b),
        ut.where(a, b, 1),
        ut.where(a, 1, b),
        ut.equal(a, b),
        ut.less_equal(a, b),
        ut.logical_xor(a, b),
        ut.isclose(a, b),
        ut.allclose(a, b),
    ]
    assert [array.usm_type for array in made] == [expected] * len(made)
    assert all(array.sycl_queue == queue for array in made)


def test_get_execution_queue(queue):
    other = usm.SyclQueue(queue.sycl_device)
    assert ut.get_execution_queue([]) is None
    assert ut.get_execution_queue([queue]) is queue
    assert ut.get_execution_queue((queue, usm.SyclQueue(queue), queue)) is queue
    assert ut.get_execution_queue([queue, other]) is None
    assert ut.get_execution_queue([queue, 3]) is None
    assert ut.get_execution_queue(["host:cpu:0"]) is None
    with pytest.raises(TypeError, match="qs"):
        ut.get_execution_queue(queue)


def test_queues_of_dpctl(dpctl, sycl_queue):
    theirs = dpctl.SyclQueue()
    ours = usm.SyclQueue(theirs)
    assert ut.get_execution_queue([theirs, ours]) is theirs
    assert ut.get_execution_queue([ours, theirs]) is ours
    assert ut.get_execution_queue([theirs, dpctl.SyclQueue()]) is None


LISTS = [[], ["host"], ["host", "shared"], ("shared", "device"), ["host", "other"], [1], ("host",) * 3]


@pytest.mark.parametrize("kinds", LISTS, ids=repr)
def test_get_coerced_usm_type_is_dpctls(dpt, kinds):
    assert ut.get_coerced_usm_type(kinds) == dpt.get_coerced_usm_type(kinds)


@pytest.mark.parametrize("kinds", ["host", 3, None], ids=repr)
def test_get_coerced_usm_type_of_no_list(kinds):
    with pytest.raises(TypeError, match="usm_types"):
        ut.get_coerced_usm_type(kinds)


@pytest.mark.parametrize("kind", ["host", "shared", "device", "other", "", None, 3], ids=repr)
@pytest.mark.parametrize("allow_none", [True, False])
def test_validate_usm_type_is_dpctls(dpt, kind, allow_none):
    def outcome(module):
        try:
            return module.validate_usm_type(kind, allow_none=allow_none)
        except (TypeError, ValueError) as error:
            return type(error)

    assert outcome(ut) == outcome(dpt)


def test_validate_usm_type():
    assert ut.validate_usm_type("shared") is None
    assert ut.validate_usm_type(None) is None
    with pytest.raises(ValueError, match='usm_type: found "other"'):
        ut.validate_usm_type("other")
    with pytest.raises(TypeError, match="usm_type: found NoneType"):
        ut.validate_usm_type(None, allow_none=False)


def test_astype_without_a_copy_gives_the_array_only_on_its_own_queue(queue, usm_type):
    other = usm.SyclQueue(queue.sycl_context, queue.sycl_device)
    a = ut.ones(3, "f4", sycl_queue=queue, usm_type=usm_type)
    assert ut.astype(a, "f4", copy=False) is ut.astype(a, "f4", copy=False, device=queue) is a
    there = ut.astype(a, "f4", copy=False, device=other)
    assert there.sycl_queue == other and there.tolist() == [1.0] * 3
