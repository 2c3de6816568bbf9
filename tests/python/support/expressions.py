"""Random index expressions, and arrays whose bytes around the elements are checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import usm.tensor as ut

from .pairs import MemoryPlace, elements, places, seeds


@dataclass(frozen=True)
class Watched:
    """The same view of the same elements, ours and NumPy's, and the arrays that have all bytes of their memory."""

    place: MemoryPlace
    ours: ut.usm_ndarray
    theirs: Any
    all_ours: ut.usm_ndarray
    all_theirs: Any

    def check(self) -> None:
        """Every element of the whole memory is equal, those outside of the view included."""
        assert ut.asnumpy(self.all_ours).tobytes() == self.all_theirs.tobytes()


shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@st.composite
def watched(draw: Any, dtypes: Any, shape: Any = shapes, place: Any = places) -> Watched:
    """Arrays with gaps before, between and after their elements, axes in any order and direction."""
    where, dtype, size = draw(place), draw(st.sampled_from(dtypes)), draw(shape)
    order = draw(st.permutations(range(len(size))))
    whole = [0] * len(size)
    cut: list[slice] = [slice(None)] * len(size)
    for axis, lies in enumerate(order):
        step = draw(st.sampled_from([1, 1, -1, 2, -3]))
        before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        reach = (size[axis] - 1) * abs(step) + 1 if size[axis] else 0
        whole[lies] = before + reach + after
        part = slice(before, before + reach, abs(step))
        if step < 0:
            last = before + reach - 1
            part = slice(last, before - 1 if before else None, step) if reach else slice(before, before, step)
        cut[lies] = part
    theirs = np.asarray(elements(draw(seeds), dtype, tuple(whole)))
    ours = where.put(theirs)
    return Watched(
        where,
        ut.permute_dims(ours[tuple(cut)], tuple(order)),
        theirs[(*cut, ...)].transpose(order),
        ours,
        theirs,
    )


def _slices(size: int) -> Any:
    bound = st.none() | st.integers(-2 * size - 2, 2 * size + 2)
    step = st.none() | st.integers(-size - 1, size + 1).filter(bool)
    return st.builds(slice, bound, bound, step)


@st.composite
def basic(draw: Any, shape: tuple[int, ...], wrong: bool = True) -> Any:
    """Integers, slices, ``...`` and None; with `wrong` some out of range, or too many."""
    too_many = wrong and draw(st.integers(0, 20)) == 0
    named = draw(st.integers(0, len(shape))) + too_many
    # Parts after the dots count axes from the end.
    after_dots = draw(st.none() | st.integers(0, named))
    parts: list[Any] = []
    for part in range(named):
        axis = part if after_dots is None or part < named - after_dots else part - named
        size = shape[axis] if -len(shape) <= axis < len(shape) else 1
        reach = size + 1 if wrong and draw(st.integers(0, 15)) == 0 else size
        choices = [_slices(size)]
        if reach:
            choices.append(st.integers(-reach, reach - 1))
        parts.append(draw(st.one_of(choices)))
    if after_dots is not None:
        parts.insert(named - after_dots, ...)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    return parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


REFUSED = object()


def outcome(work: Any) -> Any:
    """What a call gives, or REFUSED when it raises IndexError or ValueError."""
    try:
        return work()
    except (IndexError, ValueError):
        return REFUSED


def view(array: Any, key: Any) -> Any:
    """NumPy's view of the elements; also of a single one, which NumPy gives as a copy."""
    parts = key if isinstance(key, tuple) else (key,)
    return array[parts if any(part is ... for part in parts) else (*parts, ...)]
