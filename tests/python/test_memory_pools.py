"""Pools that a program switches on, their statistics, and snapshots of live memory."""

import gc
import re
import xml.etree.ElementTree
from concurrent.futures import ThreadPoolExecutor

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from conftest import MEMORY_CLASSES
from support import process
from support.interface import changed


@pytest.fixture
def pool(queue):
    with um.use_pool(queue) as pool:
        yield pool


def test_memory_is_used_again(allocate, usm_type, pool):
    first = allocate(usm_type, 1000)
    address = first._pointer
    del first
    second = allocate(usm_type, 1000)
    assert second._pointer == address
    stats = pool.stats()
    assert (stats["current_bytes"], stats["current_count"]) == (1000, 1)
    assert (stats["peak_bytes"], stats["total_bytes"], stats["total_count"]) == (1000, 2000, 2)
    assert stats["slab_bytes"] >= 1000 and stats["reused_count"] == 1 and stats["failed_count"] == 0
    second.copy_from_host(bytes(1000))
    assert second.tobytes() == bytes(1000)


@pytest.mark.parametrize("alignment", [1, 64, 4096])
def test_alignment_in_a_pool(allocate, usm_type, pool, alignment):
    made = [allocate(usm_type, 10, alignment=alignment) for _ in range(3)]
    assert all(memory._pointer % alignment == 0 for memory in made)
    assert pool.stats()["current_count"] == 3


def test_every_way_to_new_memory_uses_the_pool(array, allocate, queue, usm_type, pool):
    made = [
        array((10,), dtype="i4", buffer=usm_type),
        ut.zeros(10, "i4", usm_type=usm_type, sycl_queue=queue),
        MEMORY_CLASSES[usm_type](allocate("host", 40), copy=True),
    ]
    assert pool.stats()["current_count"] == len(made)
    assert pool.stats()["total_count"] == len(made) + 1
    assert made[1].tolist() == [0] * 10


def test_imports_do_not_use_the_pool(allocate, usm_type, pool):
    memory = allocate(usm_type, 8)
    um.as_usm_memory(changed(memory)), memory[2:], um.as_usm_memory(memory)
    assert pool.stats()["total_count"] == 1


def test_only_the_devices_named(usm_type, queue):
    other = usm.SyclQueue("host:cpu:0") if queue.sycl_device.backend != "host" else None
    with um.use_pool(queue) as pool:
        if other:
            MEMORY_CLASSES[usm_type](8, queue=other)
            assert pool.stats()["total_count"] == 0
        MEMORY_CLASSES[usm_type](8, queue=queue)
        assert pool.stats()["total_count"] == 1


def test_all_devices(usm_type):
    devices = usm.get_devices()
    with um.use_pool() as pool:
        for device in devices:
            MEMORY_CLASSES[usm_type](8, queue=device)
        assert pool.stats()["total_count"] == len(devices)


def test_the_latest_pool_counts_in_whatever_order_they_end(allocate, queue, usm_type):
    def used():
        before = [pool.stats()["total_count"] for pool in open_pools]
        allocate(usm_type, 8)
        return [pool for pool, count in zip(open_pools, before, strict=True) if pool.stats()["total_count"] > count]

    first, second, third = (um.use_pool(queue) for _ in range(3))
    open_pools = [first, second, third]
    assert used() == [third]
    second.close()
    open_pools.remove(second)
    assert used() == [third]
    third.close()
    open_pools.remove(third)
    assert used() == [first]
    first.close()
    open_pools.clear()
    assert used() == []


def test_memory_outlives_its_pool(allocate, queue, usm_type, at_start):
    with um.use_pool(queue) as pool:
        memory = allocate(usm_type, 100)
        memory.memset(4)
    assert pool.closed and "closed" in repr(pool)
    assert memory.tobytes() == b"\x04" * 100
    assert usm.live_allocations()["count"] == at_start["count"] + 1
    del memory
    gc.collect()
    assert usm.live_allocations() == at_start


def test_a_closed_pool(queue):
    pool = um.use_pool(queue)
    assert not pool.closed
    pool.close()
    pool.close()
    for use in (pool.stats, pool.trim, pool.reset_peak, pool.__enter__):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_an_exception_ends_the_pool(queue):
    with pytest.raises(KeyError), um.use_pool(queue) as pool:
        raise KeyError
    assert pool.closed


def test_trim_and_limits(allocate, queue, usm_type):
    with um.use_pool(queue, limit_bytes=1 << 21) as pool:
        memory = allocate(usm_type, 1000)
        assert pool.trim() == 0
        del memory
        assert pool.stats()["idle_bytes"] >= 1000
        assert pool.trim() >= 1000
        assert pool.stats()["slab_bytes"] == pool.trim() == 0
        with pytest.raises(usm.USMAllocationError, match="2.0 MiB are allowed"):
            allocate(usm_type, 1 << 22)
        assert pool.stats()["failed_count"] == 1
    with um.use_pool(queue, max_retained_bytes=0) as pool:
        allocate(usm_type, 1000)
        assert pool.stats()["slab_bytes"] == 0


def test_sizes_that_no_pool_has(allocate, usm_type, pool):
    for nbytes in (0, -1, 1 << 62):
        with pytest.raises((ValueError, MemoryError)):
            allocate(usm_type, nbytes)
    assert pool.stats()["current_count"] == 0


def test_wrong_arguments():
    with pytest.raises(usm.SyclDeviceCreationError):
        um.use_pool("cuda:gpu:77")
    with pytest.raises(TypeError):
        um.use_pool(3)
    with pytest.raises(OverflowError):
        um.use_pool(limit_bytes=-1)


def test_a_pool_that_nobody_keeps_lasts():
    process.check("""
        import gc, usm.memory as um
        um.use_pool("host:cpu:0")
        gc.collect()
        memory = um.MemoryUSMShared(100, queue="host:cpu:0")
        assert [row.holder for row in um.snapshot() if row.address == memory._pointer][-1] == "leased"
    """)


def test_dpctl_takes_memory_of_a_pool(dpctl, sycl_queue, usm_type):
    with um.use_pool(sycl_queue) as pool:
        memory = MEMORY_CLASSES[usm_type](64, queue=sycl_queue)
        memory.memset(3)
        theirs = dpctl.memory.as_usm_memory(memory)
        assert theirs._pointer == memory._pointer and theirs.tobytes() == b"\x03" * 64
        ours = um.as_usm_memory(theirs)
        ours[:32].memset(4)
        assert memory.tobytes() == b"\x04" * 32 + b"\x03" * 32
        del memory, theirs, ours
        # What others got to know is handed out again when their work is complete.
        assert pool.trim() > 0
        assert pool.stats()["current_count"] == 0


def test_threads_share_a_pool(allocate, usm_type, queue, pool):
    def work(n):
        for i in range(100):
            memory = allocate(usm_type, 1 + i % 50 * 37)
            memory.memset(n)
            assert memory.tobytes() == bytes([n]) * memory.nbytes
            if i % 10 == 0:
                um.snapshot(), pool.stats()
            if i % 25 == 0:
                pool.trim()
            if i % 20 == 0:
                with um.use_pool(queue):
                    allocate(usm_type, 10).memset(1)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert pool.stats()["current_count"] == 0


# The pool that is there from the start.


def test_the_default_pool_hands_memory_out_again(allocate, usm_type, queue):
    memory = allocate(usm_type, 5000)
    address = memory._pointer
    before = um.default_pool_stats()
    assert before["slab_bytes"] >= before["current_bytes"] >= 5000
    del memory
    assert um.default_pool_stats()["current_bytes"] == before["current_bytes"] - 5000
    array = ut.empty(5000, "u1", usm_type=usm_type, sycl_queue=queue)
    assert array._pointer == address
    assert um.default_pool_stats()["reused_count"] > before["reused_count"]
    del array
    assert um.trim_default_pool() > 0 and um.default_pool_stats()["idle_bytes"] == 0


def test_a_trim_may_be_the_first_call():
    devices = "print([device.filter_string for device in usm.get_devices()])"
    trimmed = process.check(f"import usm; assert usm.memory.trim_default_pool() == 0; {devices}")
    assert trimmed == process.check(f"import usm; {devices}")


def test_memory_of_a_gpu_is_there_for_other_libraries_after_a_trim(driver, cuda_queue):
    def given_back() -> int:
        um.MemoryUSMDevice(1 << 30, queue=cuda_queue)
        before = driver.free_bytes()
        um.trim_default_pool()
        return driver.free_bytes() - before

    # Other processes take and free memory of the GPU, too.
    assert any(given_back() >= 1 << 29 for _ in range(10))


def test_the_default_pool_can_be_switched_off(allocate, usm_type, at_start):
    before = um.default_pool_stats()
    assert um.use_default_pool(False) is True
    try:
        memory = allocate(usm_type, 100)
        assert row_of(memory).holder == "owned"
        assert um.default_pool_stats() == before
    finally:
        assert um.use_default_pool(True) is False
    assert usm.live_allocations()["count"] == at_start["count"] + 1


def test_the_environment_switches_the_default_pool_off():
    code = """
        import usm.memory as um
        memory = um.MemoryUSMShared(100, queue="host:cpu:0")
        assert um.default_pool_stats()["slab_bytes"] == 0
        assert um.use_default_pool(True) is False
        del memory
        memory = um.MemoryUSMShared(100, queue="host:cpu:0")
        assert um.default_pool_stats()["current_bytes"] == 100
    """
    process.check(code, USM_POOL="0")


def test_a_borrow_reaches_no_further_than_the_block(allocate, usm_type):
    """Adjacent blocks of a pool are as far apart as allocations of the runtime."""
    memories = [allocate(usm_type, 100) for _ in range(3)]
    assert um.as_usm_memory(changed(memories[1])).nbytes == 100
    for shape in ((101,), (164,), (1000,)):
        with pytest.raises(ValueError, match="allocation|USM"):
            um.as_usm_memory(changed(memories[1], shape=shape))


# What can be seen.


def row_of(memory):
    return [row for row in um.snapshot() if row.address == memory._pointer][-1]


def test_rows(allocate, queue, usm_type):
    memory = allocate(usm_type, 100)
    row = row_of(memory)
    assert (row.nbytes, row.usm_type, row.holder, row.tag) == (100, usm_type, "leased", None)
    assert row.device == queue.sycl_device.filter_string
    assert row.is_reserve is False and 0 <= row.age < 60 and row.context >= 0
    assert hex(memory._pointer) in repr(row)
    imported = um.as_usm_memory(changed(memory))
    holders = sorted(row.holder for row in um.snapshot() if row.address == imported._pointer)
    assert [holder for holder in holders if holder != "owned"] == ["borrowed", "leased"]
    memory[50:].set_tag("<half>")
    assert "<half>" in [row.tag for row in um.snapshot() if row.address == memory._pointer]


def test_rows_of_a_pool(allocate, usm_type, pool):
    memory = allocate(usm_type, 100)
    memory.set_tag("pooled")
    row = row_of(memory)
    assert (row.nbytes, row.holder, row.tag) == (100, "leased", "pooled")
    assert any(row.is_reserve and row.address <= memory._pointer < row.address + row.nbytes for row in um.snapshot())


def test_a_snapshot_is_of_its_time(allocate, usm_type):
    memory = allocate(usm_type, 8)
    before = um.snapshot()
    address = memory._pointer
    del memory
    gc.collect()
    assert any(row.address == address for row in before)
    assert len(um.snapshot()) == len(before) - 1


def test_rows_by_number(allocate, usm_type):
    made = [allocate(usm_type, 8) for _ in range(5)]
    found = um.snapshot()
    rows = list(found)
    assert len(rows) == len(found) >= len(made)
    assert [found[i].address for i in range(len(found))] == sorted(row.address for row in rows)
    assert found[-1].address == rows[-1].address and found[-len(rows)].address == rows[0].address
    for index in (len(found), -len(found) - 1, 2**62, -(2**62)):
        with pytest.raises(IndexError):
            found[index]


def test_sums(allocate, usm_type, at_start):
    before = um.memory_stats()[usm_type]
    memory = allocate(usm_type, 1000)
    imported = um.as_usm_memory(changed(memory))
    now = um.memory_stats()
    assert set(now) == {"host", "device", "shared"}
    assert now == um.snapshot().totals()
    difference = {key: now[usm_type][key] - before[key] for key in before}
    # The pool may have a new slab for it.
    assert difference["count"] in (2, 3)
    assert (difference["borrowed_bytes"], difference["leased_bytes"]) == (1000, 1000)
    del imported


def test_drawings(allocate, usm_type):
    memory = allocate(usm_type, 100)
    memory.set_tag("<script>&'\"")
    found = um.snapshot()
    svg = xml.etree.ElementTree.fromstring(found.to_svg())
    assert svg.tag.endswith("svg") and len(list(svg.iter("{http://www.w3.org/2000/svg}rect"))) == len(found)
    page, part, table = found.to_html(), found._repr_html_(), str(found)
    assert part in page and page.startswith("<!DOCTYPE html>") and not part.startswith("<!DOCTYPE")
    assert hex(memory._pointer) in part and "<script>&'\"" in table
    assert "<script" not in page and not re.search(r"https?://(?!www.w3.org/)", page)


def test_the_handle_of_a_pool_that_was_lost(queue):
    device = queue.sycl_device
    assert um.current_pool(device) is None
    um.use_pool(device, limit_bytes=1 << 20)
    gc.collect()
    with pytest.raises(um.USMAllocationError):
        um.MemoryUSMHost(1 << 21, queue=queue)
    found = um.current_pool(queue)
    assert (
        found is not None
        and not found.closed
        and found == um.current_pool(device)
        and hash(found) == hash(um.current_pool(device))
    )
    assert found.stats()["failed_count"] == 1
    with um.use_pool(device) as inner:
        assert um.current_pool(device) == inner != found
    assert um.current_pool(device) == found
    found.close()
    assert um.current_pool(device) is None and found.closed
    um.MemoryUSMHost(1 << 21, queue=queue)


def test_the_default_pool_takes_the_place_of_lost_pools_only(queue):
    device = queue.sycl_device
    kept = um.use_pool(device, limit_bytes=1 << 22)
    lost = um.use_pool(device, limit_bytes=1 << 20)
    address = um.MemoryUSMHost(100, queue=queue)
    del lost
    assert um.use_default_pool(False) and um.current_pool(device) != kept, "False lifts nothing"
    with pytest.raises(um.USMAllocationError):
        um.MemoryUSMHost(1 << 21, queue=queue)
    assert not um.use_default_pool(True)
    assert um.current_pool(device) == kept, "a pool whose object is there stays"
    um.MemoryUSMHost(1 << 21, queue=queue)
    with pytest.raises(um.USMAllocationError):
        um.MemoryUSMHost(1 << 23, queue=queue)
    address.copy_from_host(b"usm")
    assert address.tobytes()[:3] == b"usm", "memory of a pool that ended stays"
    kept.close()
    um.use_default_pool(True)
    assert um.current_pool(device) is None and um.MemoryUSMHost(1 << 23, queue=queue).nbytes == 1 << 23


def test_a_pool_of_all_devices_is_that_of_each(queue):
    with um.use_pool() as pool:
        assert um.current_pool() == um.current_pool(queue) == um.current_pool("host") == pool
    with pytest.raises(usm.UsmError):
        um.current_pool("host:cpu:7")
