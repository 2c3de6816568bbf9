"""``await event``: a task waits for an operation while the loop runs others."""

import asyncio
from typing import Any

__all__ = ["wait"]


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


async def wait(event: Any) -> None:
    """Wait for an event on the running loop of asyncio, whichever class it is of.

    The loop watches a file that becomes readable on completion: all loops on Linux have ``add_reader``.
    """
    awaited = event._awaited()
    try:
        while not awaited.is_complete():
            loop = asyncio.get_running_loop()
            waiter = loop.create_future()
            loop.add_reader(awaited, _wake, waiter)
            try:
                await waiter
            finally:
                loop.remove_reader(awaited)
    finally:
        awaited.close()
    event.wait()
