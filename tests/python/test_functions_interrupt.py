"""Ctrl-C during the functions of usm.tensor: they return, and own their operands until the work is complete."""

import pytest
from test_robust_interrupt import BACKENDS, INTERRUPTED

from support import children, requirements


@BACKENDS
@pytest.mark.parametrize("kind", ["shared", "device"])
def test_long_functions(backend, kind, came_back):
    if kind == "device":
        requirements.fast_kernels(backend)
    came_back(
        children.run(
            backend,
            INTERRUPTED
            + """
a = array(1 << 23, "f4", KIND)
at_start = live()
here = {"sycl_queue": QUEUE, "usm_type": KIND}
works = {
    "copy": lambda: ut.copy(a[::-1]),
    "astype": lambda: ut.astype(a, "f8"),
    "full": lambda: ut.full(1 << 24, 1.5, **here),
    "arange": lambda: ut.arange(1 << 24, **here),
    "ones_like": lambda: ut.ones_like(a, dtype="c16"),
    "concat": lambda: ut.concat([a[::-1], a]),
    "where": lambda: ut.where(a, a, 1),
    "equal": lambda: ut.equal(a, a[::-1]),
    "nonzero": lambda: ut.nonzero(ut.logical_not(a)),
    "sum": lambda: ut.sum(a),
}
for name, work in works.items():
    def forever():
        while True:
            work()
            QUEUE.wait()

    took = interrupted(forever, 0.2)
    until(lambda: live() == at_start)
    print(f"{BACKEND} {KIND} {name}: back {took * 1e3:.0f} ms after Ctrl-C")
""".replace("KIND", repr(kind)),
            seconds=100,
        )
    )


@BACKENDS
def test_the_zeros_of_imag(backend, came_back):
    """The job that has been left alone proves the interrupt: it still has the new array."""
    came_back(
        children.run(
            backend,
            INTERRUPTED
            + """
one = array(1, usm_type="shared")
at_start, n = live(), 1 << 25
def longer():
    global n
    n *= 2
def shows(took):
    return live() > at_start or longer()
took = interrupted(lambda: ut.imag(ut.broadcast_to(one, n)), 0.02, longer, shows=shows)
until(lambda: live() == at_start)
print(f"{BACKEND} imag: back {took * 1e3:.0f} ms after Ctrl-C")
""",
            seconds=100,
        )
    )
