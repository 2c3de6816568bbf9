"""``await event``: a task waits for an operation while the loop runs others."""

import asyncio
from typing import Any

__all__ = ["wait"]


# Between two looks on Windows. The thread that watches events pauses as long.
_PAUSE_SECONDS = 0.001


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


async def wait(event: Any) -> None:
    """Wait for an event on the running loop of asyncio, whichever class it is of.

    The loop watches a file that becomes readable on completion: all loops on Linux have ``add_reader``. On Windows the
    default loop lacks it, and the task looks again after a pause.
    """
    awaited = event._awaited()
    try:
        while not awaited.is_complete():
            loop = asyncio.get_running_loop()
            if not hasattr(awaited, "fileno"):
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            waiter = loop.create_future()
            loop.add_reader(awaited, _wake, waiter)
            try:
                await waiter
            finally:
                loop.remove_reader(awaited)
    finally:
        awaited.close()
    event.wait()
