"""How long the work of a queue takes, by the clocks of the host and of the device."""

import timeit
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple

from ._usm import SyclEvent, SyclQueue

__all__ = ["SyclTimer"]


class HostDeviceDuration(NamedTuple):
    """Two durations, in the unit of the timer.

    >>> import usm
    >>> usm.SyclTimer().dt
    HostDeviceDuration(host_dt=0.0, device_dt=0.0)
    """

    host_dt: float
    device_dt: float


class SyclTimer:
    """SyclTimer(host_timer=timeit.default_timer, device_timer=None, time_scale=1)

    Measures blocks of a ``with`` statement: by `host_timer`, a function that
    gives seconds, and by the profiling times of barriers that are submitted to
    the queue before and after the block. `time_scale` is the number of units in
    a second: 1000 for milliseconds. `device_timer` is ``"queue_barrier"``.

    Raises ValueError for another `device_timer`, and for a queue without the
    property "enable_profiling".

    >>> import usm, usm.memory
    >>> queue = usm.SyclQueue("host", property="enable_profiling")
    >>> memory = usm.memory.MemoryUSMDevice(1 << 20, queue=queue)
    >>> timer = usm.SyclTimer(time_scale=1e3)
    >>> with timer(queue):
    ...     event = queue.memset_async(memory, 7)
    >>> host_dt, device_dt = timer.dt
    >>> host_dt > 0 and device_dt >= 0
    True
    """

    def __init__(
        self,
        host_timer: Callable[[], float] = timeit.default_timer,
        device_timer: str | None = None,
        time_scale: float = 1,
    ) -> None:
        if device_timer not in (None, "queue_barrier"):
            raise ValueError(f'device_timer: found {device_timer!r}, allowed is "queue_barrier"')
        self.timer = host_timer
        self.time_scale = time_scale
        self.queue: SyclQueue | None = None
        self.host_times: list[tuple[float, float]] = []
        self.bracketing_events: list[tuple[SyclEvent, SyclEvent]] = []
        # The starts of the blocks that we are in.
        self._started: list[tuple[SyclQueue, SyclEvent, float]] = []

    def __call__(self, queue: SyclQueue | None = None) -> "SyclTimer":
        if not isinstance(queue, SyclQueue) and hasattr(queue, "_get_capsule") and hasattr(queue, "submit_barrier"):
            queue = SyclQueue(queue)  # of dpctl
        if not isinstance(queue, SyclQueue):
            raise TypeError(f"queue: found {type(queue).__name__}, allowed is a SyclQueue")
        if not queue.has_enable_profiling:
            raise ValueError('queue: found one that records no times; make it with property="enable_profiling"')
        self.queue = queue
        return self

    def __enter__(self) -> "SyclTimer":
        if self.queue is None:
            raise ValueError("queue: found none, allowed is `with timer(queue):`")
        self._started.append((self.queue, self.queue.submit_barrier(), self.timer()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        queue, first, start = self._started.pop()
        last, end = queue.submit_barrier(), self.timer()
        self.bracketing_events.append((first, last))
        self.host_times.append((start, end))

    @property
    def dt(self) -> HostDeviceDuration:
        """The sum of the times of all blocks, a pair ``(host_dt, device_dt)``. Waits for the completion of their work.

        >>> import usm
        >>> usm.SyclTimer().dt.device_dt
        0.0
        """
        ticks_ns = sum(last.profiling_info_start - first.profiling_info_end for first, last in self.bracketing_events)
        seconds = sum(end - start for start, end in self.host_times)
        return HostDeviceDuration(float(seconds * self.time_scale), ticks_ns * 1e-9 * self.time_scale)
