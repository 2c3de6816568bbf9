"""SyclTimer: durations by the host's clock and by profiling times, and its refusals."""

import time

import pytest

import usm
import usm.memory as um


@pytest.fixture
def profiling(queue):
    return usm.SyclQueue(queue.sycl_device, property="enable_profiling")


def test_blocks_add_up(profiling):
    timer = usm.SyclTimer(host_timer=time.perf_counter, time_scale=1e3)
    memory = um.MemoryUSMDevice(1 << 20, queue=profiling)
    durations = []
    for _ in range(2):
        with timer(profiling):
            profiling.memset(memory, 7)
            time.sleep(0.01)
        durations.append(timer.dt)
    first, second = durations
    assert second.host_dt >= first.host_dt + 10 >= 20, "milliseconds"
    assert second.device_dt >= first.device_dt >= 0
    host_dt, device_dt = second
    assert (host_dt, device_dt) == (second.host_dt, second.device_dt) and "host_dt" in repr(second)


def test_blocks_may_be_nested_and_end_with_an_error(profiling):
    timer = usm.SyclTimer()
    with timer(profiling):
        with pytest.raises(KeyError), timer(profiling):
            raise KeyError
        assert len(timer.host_times) == len(timer.bracketing_events) == 1
    assert len(timer.host_times) == 2 and timer.dt.host_dt > 0


def test_refused(queue):
    with pytest.raises(ValueError, match="enable_profiling"):
        usm.SyclTimer()(queue)
    for wrong in (None, "host", queue.sycl_device):
        with pytest.raises(TypeError, match="queue"):
            usm.SyclTimer()(wrong)
    with pytest.raises(ValueError, match="device_timer"):
        usm.SyclTimer(device_timer="order_manager")
    with pytest.raises(ValueError, match="with timer"), usm.SyclTimer():
        pass
