"""Functions made of the rows of the table, with signatures and documentation of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._usm import _place, copy, empty
from ._choice import chosen, provider_for
from ._provider import Computed
from ._table import FFT, FUNCTIONS, LINALG, Function

__all__ = ["call", "function"]

_PARTS = {"": FUNCTIONS, "linalg": LINALG, "fft": FFT}
_made: dict[tuple[str, str], Callable[..., Any]] = {}


def call(row: Function, operands: tuple[Any, ...], keywords: dict[str, Any], out: Any = None) -> Any:
    """The result of a function of the table, by the provider for the memory of its operands and of `out`."""
    memory, given = _place(_given(row, operands), out)
    rest = iter(given)
    # Optional operands that are not given stay None.
    operands = tuple(None if operand is None else next(rest) for operand in operands) if row.arrays else given
    return provider_for(memory).functions[row](operands, keywords, out)


def _given(row: Function, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    if not row.arrays:
        return operands
    optional = len(operands) - len(row.arrays)
    return (*operands[:optional], *(operand for operand in operands[optional:] if operand is not None))


def _ordered(row: Function, operands: tuple[Any, ...], out: Any, order: Any) -> Any:
    """A result in an order of memory that was asked for."""
    value = call(row, operands, {}, out)
    return value if out is not None else copy(value, order=order)


def _frequencies(row: Function, n: int, d: float, dtype: Any, device: Any) -> Any:
    place = empty(0, device=device)
    memory, _ = _place((place,), None)
    return provider_for(memory).frequencies(row.name, n, d, dtype, place)


def function(part: str, name: str) -> Callable[..., Any]:
    """The function of a name in a part of the namespace: ``""``, ``"linalg"`` or ``"fft"``."""
    made = _made.get((part, name))
    if made is None:
        made = _made[part, name] = _make(_PARTS[part][name])
    return made


def _make(row: Function) -> Callable[..., Any]:
    """Compiles ``def name(parameters): return call(row, …)``: Python itself reads the arguments."""
    names = [parameter.split("=")[0].strip() for parameter in row.parameters.split(",")]
    slash = names.index("/")
    first, rest = names[:slash], [name for name in names[slash + 1 :] if name not in ("*", "out", "order")]
    operands = "".join(f"{name}, " for name in (*first, *row.arrays))
    keywords = ", ".join(f"{name!r}: {name}" for name in rest if name not in row.arrays)
    if row.kind == "frequencies":
        body = "frequencies(row, n, d, dtype, device)"
    elif not row.arrays:
        # As `call`, with one look-up in place of three.
        out = "out" if "out" in names else "None"
        body = (
            f"(known.get(((placed := place(({operands}), {out}))[0], chosen())) or find(placed[0]))"
            f"(placed[1], {f'{{{keywords}}}' if keywords else None}, {out})"
        )
        if "order" in names:
            body += f" if order == 'K' else ordered(row, ({operands}), out, order)"
    else:
        body = f"call(row, ({operands}), {{{keywords}}}{', out' if 'out' in names else ''})"
    known: dict[tuple[str, str | None], Computed] = {}

    def find(memory: str) -> Computed:
        found = known[memory, chosen()] = provider_for(memory).functions[row]
        return found

    namespace = {
        "row": row,
        "known": known,
        "chosen": chosen,
        "find": find,
        "call": call,
        "frequencies": _frequencies,
        "ordered": _ordered,
        "place": _place,
    }
    module = "usm.tensor" + (row.part and f".{row.part}")
    # Warnings of the provider name the function as their place.
    exec(
        compile(f"def {row.name}({row.parameters}):\n    return {body}\n", f"<{module}.{row.name}>", "exec"), namespace
    )
    made: Any = namespace[row.name]
    made.__module__, made.__qualname__ = module, row.name
    made.__doc__ = f"{row.name}({row.parameters})\n\n{row.text}\n"
    compiled: Callable[..., Any] = made
    return compiled
