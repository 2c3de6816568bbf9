"""pytest fixture: how soon calls come back after Ctrl-C, which ``USM_REQUIRE_MATRIX=1`` limits to 100 ms."""

import os
import re
from collections.abc import Callable, Iterator

import pytest

from . import figures

REQUIRE_MATRIX = os.environ.get("USM_REQUIRE_MATRIX") == "1"
MOST_MS = 100


@pytest.fixture(scope="module")
def came_back() -> Iterator[Callable[[str], None]]:
    """`came_back(printed)` reads the times that a program has printed."""
    times: list[int] = []

    def came_back(printed: str) -> None:
        print(printed)
        found = re.findall(r"(?:(\S.*): )?back (\d+) ms after Ctrl-C", printed)
        times.extend(int(time) for _, time in found)
        slow = [call for call, time in found if int(time) > MOST_MS]
        assert not (REQUIRE_MATRIX and slow), f"later than {MOST_MS} ms after Ctrl-C: {slow}"

    yield came_back
    if times:
        figures.add(f"Ctrl-C in {len(times)} calls, the slowest came back after {max(times)} ms")
