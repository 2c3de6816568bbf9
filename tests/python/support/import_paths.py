"""The paths on which objects of others come in, as a campaign of `rounds`: random changes of valid objects.

An execution changes a valid object and hands it over. An accepted one must lie in live memory. A refusal must be one of
the exceptions of its path. A round must leave nothing: no memory, no reference to the sources, no file, no buffer.
"""

import gc
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

from .dlpack import LEGACY, VERSIONED
from .import_bytes import Handles, Pickles
from .import_objects import Constructors, CudaDicts, Dicts, Dtypes, Indices, Selectors
from .import_structs import Buffers, Tensors
from .import_world import Path, World
from .mutations import Planned
from .rounds import Balance

#: Executions of a path in a round.
EXECUTIONS = 250
OUTCOMES = ACCEPTED, REFUSED, PLANNED, OUT_OF_MEMORY = "accepted", "refused", "raised as planned", "out of memory"
PATHS: dict[str, Callable[[World], Path]] = {
    "dict": Dicts,
    "DLPack": lambda world: Tensors(world, LEGACY),
    "DLPack, versioned": lambda world: Tensors(world, VERSIONED),
    "CUDA dict": CudaDicts,
    "buffer": Buffers,
    "constructor": Constructors,
    "index": Indices,
    "dtype": Dtypes,
    "filter selector": Selectors,
    # It starts a process, and the next one limits the memory of this process and of all that it starts.
    "IPC handle": Handles,
    "pickle": Pickles,
}


def _shown(value: Any) -> str:
    try:
        return repr(value)[:2000]
    except BaseException:
        return f"an object of {type(value)}"


def prepare(device: str) -> Callable[[random.Random], Counter[str]]:
    """The function of a round on all paths."""
    warnings.simplefilter("ignore")
    world = World(device)
    mutator = world.mutator
    paths = {name: make(world) for name, make in PATHS.items()}
    watched = [world.queue, *(source.array for source in world.sources), *(source.memory for source in world.sources)]
    balance = Balance(*watched, pool=world.pool)
    ignored: list[str] = []
    sys.unraisablehook = lambda found: ignored.append(_shown(found.exc_value))

    def execute(path: Path) -> str:
        mutator.product, mutator.target = 1, None
        mutator.raised.clear()
        function, arguments = path.call()
        try:
            path.check(function(*arguments))
            outcome = ACCEPTED
        except path.errors:
            outcome = REFUSED
        except BaseException as error:
            is_planned = isinstance(error, Planned)
            if not is_planned and not (isinstance(error, MemoryError) and mutator.is_huge()):
                raise AssertionError(f"{_shown(error)} by {function}{_shown(arguments)}") from error
            outcome = PLANNED if is_planned else OUT_OF_MEMORY
        is_lost = mutator.raised and outcome != PLANNED
        assert not ignored and not is_lost, f"{ignored or mutator.raised} lost in {function}{_shown(arguments)}"
        return outcome

    def play_path(name: str, happened: Counter[str]) -> None:
        path = paths[name]
        for _ in range(EXECUTIONS):
            happened[f"{name}: {execute(path)}"] += 1
            path.after()
        mutator.target = None
        # The frames of an exception have what was handed over.
        mutator.raised.clear()
        path.after_round()

    def play(choice: random.Random) -> Counter[str]:
        happened: Counter[str] = Counter()
        mutator.choice = choice
        for name in paths:
            with balance:
                play_path(name, happened)
        return happened

    # Some things are made at their first use, and stay.
    mutator.choice = random.Random(0)
    for name in paths:
        play_path(name, Counter())
    gc.collect()
    gc.freeze()
    return play
