"""Elements one by one: lists of Python's numbers, places that an index array names, and what a mask selects."""

from collections.abc import Callable, Iterator
from functools import partial

from case import Case, Contender, Names, each, timed
from sides import DPNP, NUMPY, USM, Side, names

NUMBERS = 300_000
PLACES = 2_000_000
BITS = 1_000_000
VIEWS = 20_000


def with_numbers(side: Side, kind: str) -> Names:
    """Real numbers in a list and in rows, with integers among them, and integers alone."""
    made = names(side, kind)
    reals = [i * 0.5 for i in range(NUMBERS)]
    rows = [reals[i : i + 100] for i in range(0, NUMBERS, 100)]
    return made | {"reals": reals, "rows": rows, "integers": list(range(NUMBERS)), "mixed": [0, *reals[1:]]}


def with_places(side: Side, kind: str) -> Names:
    """Each place once, in an order without a rule that a processor sees."""
    made = names(side, kind, a=((PLACES,), "f8"), values=((PLACES,), "f8"))
    xp = made["xp"]
    made["values"][...] = 1
    # The factor and the number of places have no common divisor.
    made["places"] = xp.asarray([i * 1_234_567_891 % PLACES for i in range(PLACES)], dtype="i8", **made["kind"])
    return made


def with_mask(side: Side, kind: str) -> Names:
    made = names(side, kind)
    # Bits of the middle of a product: as good as random, and the same on each side.
    mask = [bool(i * 2_654_435_761 >> 20 & 1) for i in range(BITS)]
    made["mask"] = made["xp"].asarray(mask, dtype="?", **made["kind"])
    return made


def with_views(side: Side, kind: str) -> Names:
    return names(side, kind, a=((VIEWS,), "f8"))


def by_each(statement: str, result: str, names_of: Callable[..., Names], kind: str) -> list[Contender]:
    """The statement of all sides, whose result has that name."""
    return [each([side], side.finished(statement, result), names_of, kind, repeats=1)[0] for side in (USM, NUMPY, DPNP)]


def cases() -> Iterator[Case]:
    for kind in ["device", "host"]:
        for name in ["reals", "rows", "integers", "mixed"]:
            contenders = by_each(f"r = xp.asarray({name}, **kind)", "r", with_numbers, kind)
            yield Case(f"list/asarray of 3e5 {name}, {kind}", contenders)
        yield Case(f"index/put 2e6, {kind}", by_each("xp.put(a, places, values)", "a", with_places, kind))
        yield Case(f"index/a[places] = values 2e6, {kind}", by_each("a[places] = values", "a", with_places, kind))
        nonzero = by_each("r = xp.nonzero(mask)[0]", "r", with_mask, kind)
        yield Case(f"index/nonzero of a dense mask of 1e6, {kind}", nonzero)
        # NumPy's iterator gives numbers, and ours and dpnp's views.
        numbers = each((USM, NUMPY, DPNP), "list(a)", with_views, kind, repeats=1)
        views = timed("NumPy's views", "[a[i, ...] for i in range(len(a))]", partial(with_views, NUMPY, kind), 1)
        yield Case(f"list/list(a) of 2e4, {kind}", [*numbers, views])
