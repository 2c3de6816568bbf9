"""Who is compared: modules of arrays under the names of the array API, and arrays of each."""

from types import ModuleType
from typing import Any

USM, NUMPY, PEER = "usm", "NumPy", "dpnp"


def namespace(side: str) -> ModuleType:
    """The module, imported when it is first needed: a neighbour that is missing leaves the others."""
    match side:
        case "usm":
            import usm.tensor

            return usm.tensor
        case "NumPy":
            import numpy

            return numpy
        case "dpnp":
            # dpnp, formerly dpctl.tensor, finds the CPU driver that the import of usm announces.
            import dpnp.tensor

            import usm  # noqa: F401

            return dpnp.tensor
        case _:
            raise ValueError(side)


def kind_of(side: str, kind: str) -> dict[str, str]:
    return {} if side == NUMPY else {"usm_type": kind}


def zeros(side: str, shape: tuple[int, ...], dtype: str = "f8", kind: str = "shared") -> Any:
    return namespace(side).zeros(shape, dtype=dtype, **kind_of(side, kind))


def names(side: str, kind: str = "shared", **arrays: tuple[tuple[int, ...], str]) -> dict[str, Any]:
    """The module as `xp`, and an array for each shape and dtype."""
    made = {name: zeros(side, shape, dtype, kind) for name, (shape, dtype) in arrays.items()}
    return {"xp": namespace(side), "kind": kind_of(side, kind), **made}
