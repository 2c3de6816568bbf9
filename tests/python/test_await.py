"""``await event``: tasks go on, errors come out, waiting ends without the operation."""

import asyncio
import os

import pytest

import usm
import usm._await

from support import process

LARGE = 64 << 20


def open_files():
    return len(os.listdir("/proc/self/fd"))


async def are_closed(before):
    """Whether no more files are open than before: the thread that wakes lets go of one a moment after the wake."""
    for _ in range(200):
        if open_files() <= before:
            return True
        await asyncio.sleep(0.01)
    return False


def test_operations_are_awaited(queue, allocate):
    async def main():
        memory = allocate("device", LARGE)
        for value in range(5):
            assert await queue.memset_async(memory, value) is None
        out = bytearray(8)
        await queue.memcpy_async(out, memory, 8)
        return out

    assert asyncio.run(main()) == bytes([4] * 8)


def test_complete_events_need_no_loop(queue, allocate):
    event = queue.memset_async(allocate("shared", 64), 1)
    event.wait()
    for complete in (event, usm.SyclEvent()):
        with pytest.raises(StopIteration):
            next(complete.__await__())


def test_many_tasks_wait_at_the_same_time(queue, allocate):
    async def one(value):
        memory = allocate("device", 1 << 20)
        event = queue.memset_async(memory, value)
        await asyncio.gather(event, event)
        return memory.tobytes()[-1]

    async def main():
        return await asyncio.gather(*map(one, range(50)))

    assert asyncio.run(main()) == list(range(50))


def pending(queue, memories, count_of_copies=20):
    """The last event of a fill and copies of two memories of one size, one operation after the other."""
    events = [queue.memset_async(memories[0], 1)]
    for i in range(count_of_copies):
        to, source = memories[(i + 1) % 2], memories[i % 2]
        events.append(queue.memcpy_async(to, source, len(to), [events[-1]]))
    return events[-1]


def first_of_more_work(allocate, result):
    """The first result that is true for two memories that are ever larger: a fast device copies small ones before the
    host has submitted the next copy, and more so where the host has much else to do."""
    for more in range(7):
        memories = [allocate("device", LARGE << more) for _ in range(2)]
        if found := result(memories):
            return found
    return None


def test_other_tasks_run_meanwhile(queue, allocate):
    async def main(memories):
        steps, goes_on = 0, True

        async def count():
            nonlocal steps
            while goes_on:
                steps += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count())
        last = pending(queue, memories)
        await last
        assert last.execution_status is usm.event_status_type.complete
        goes_on = False
        await counting
        return steps

    assert first_of_more_work(allocate, lambda memories: asyncio.run(main(memories)) > 10)


def test_cancelling_ends_the_waiting_and_not_the_operation(queue, allocate):
    memories = [allocate("device", LARGE) for _ in range(2)]

    async def main():
        before = open_files()
        last = pending(queue, memories, 40)
        task = asyncio.ensure_future(asyncio.wait_for(last, 0.001))
        try:
            await task
        except TimeoutError:
            pass
        waiting = asyncio.ensure_future(asyncio.wait([asyncio.ensure_future(wait(last))]))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await last
        assert await are_closed(before)
        return bytes(memories[0].copy_to_host()[:4])

    async def wait(event):
        await event

    assert asyncio.run(main()) == b"\1" * 4


def test_files_are_closed(queue, allocate):
    memory = allocate("device", 1 << 16)

    async def main():
        await queue.memset_async(memory, 0)
        before = open_files()
        for value in range(200):
            await queue.memset_async(memory, value)
        assert await are_closed(before)

    asyncio.run(main())


def test_without_a_loop_there_is_a_clear_error(queue, allocate):
    def refusal(memories):
        last = pending(queue, memories)
        try:
            next(last.__await__())
        except StopIteration:  # the operation is complete
            return None
        except RuntimeError as error:
            return str(error)
        finally:
            last.wait()

    assert first_of_more_work(allocate, refusal) == "no running event loop"


def test_the_error_of_the_operation_comes_out():
    """From what the loop waits with; that it comes there is a test of usm-core, on whose host backend tasks fail."""
    process.check(
        """
        import asyncio, usm, usm._await

        class Failing:
            closed = False

            def is_complete(self):
                raise usm.UsmError("the operation failed")

            def fileno(self):
                return 0

            def close(self):
                Failing.closed = True

        class Event:
            def _awaited(self):
                return Failing()

        async def main():
            try:
                await usm._await.wait(Event())
            except usm.UsmError as error:
                assert str(error) == "the operation failed"
            else:
                raise AssertionError

        asyncio.run(main())
        assert Failing.closed
        """
    )


def test_without_a_file_the_task_looks_again():
    """As on Windows, where no event loop watches a pipe."""

    class Awaited:
        looks = 0
        is_closed = False

        def is_complete(self):
            self.looks += 1
            return self.looks == 3

        def close(self):
            self.is_closed = True

    class Event:
        def __init__(self, awaited):
            self.awaited = awaited

        def _awaited(self):
            return self.awaited

        def wait(self):
            assert self.awaited.looks == 3

    awaited = Awaited()
    asyncio.run(usm._await.wait(Event(awaited)))
    assert awaited.is_closed


@pytest.mark.parametrize("end", ["loop.close()", "os._exit(0)", "sys.exit(0)", "del task, loop; gc.collect()"])
def test_a_loop_or_an_interpreter_that_ends_while_a_task_waits(queue, end):
    selector = queue.sycl_device.filter_string
    process.check(
        f"""
        import asyncio, gc, os, sys, warnings, usm, usm.memory
        warnings.simplefilter("ignore")
        queue = usm.SyclQueue({selector!r})
        a, b = (usm.memory.MemoryUSMDevice({LARGE}, queue=queue) for _ in range(2))
        event = queue.memset_async(a, 1)
        for i in range(10):
            event = queue.memcpy_async(*((b, a) if i % 2 else (a, b)), {LARGE}, [event])

        async def wait():
            await event

        loop = asyncio.new_event_loop()
        task = loop.create_task(wait())
        loop.call_later(0.001, loop.stop)
        loop.run_forever()
        {end}
        """,
        USM_CUDA=os.environ.get("USM_CUDA", ""),
    )


def test_a_forked_child_awaits_its_own_operations(host_queue):
    process.check(
        """
        import asyncio, os, usm, usm.memory
        queue = usm.SyclQueue("host")
        memory = usm.memory.MemoryUSMDevice(1 << 20, queue=queue)

        async def fill(value):
            await queue.memset_async(memory, value)

        asyncio.run(fill(1))
        child = os.fork()
        asyncio.run(fill(2))
        if child == 0:
            os._exit(0 if memory.tobytes()[-1] == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        """
    )
