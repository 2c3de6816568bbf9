"""Which provider computes on which memory."""

# pyright: basic

from __future__ import annotations

import importlib
import sys
from contextvars import ContextVar, Token
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from .._locate import importing

if TYPE_CHECKING:
    from ._provider import Provider

__all__ = ["Missing", "chosen", "provider_for", "providers", "use_provider"]


class Missing(ImportError):
    """The library that computes on this memory is not installed."""


class _Known(NamedTuple):
    """A provider that this package knows."""

    #: The module that computes.
    package: str
    #: What it serves, in the words of ``_usm._place``.
    memory: tuple[str, ...]
    #: The class of this package for it.
    home: str
    #: What installs it.
    install: str


#: Those named first are taken first.
_KNOWN = {
    "dpnp": _Known("dpnp", ("sycl", "sycl-cpu", "sycl-shared"), "_dpnp.DpnpProvider", "pip install dpnp"),
    "cupy": _Known("cupy", ("cuda", "cuda-shared"), "_cuda.CupyProvider", "pip install cupy-cuda13x array-api-compat"),
    "torch": _Known("torch", ("cuda",), "_cuda.TorchProvider", "pip install torch array-api-compat"),
    "numpy": _Known(
        "numpy",
        ("host", "sycl-shared", "cuda-shared", "sycl-cpu", "protected"),
        "_numpy.NumpyProvider",
        "pip install numpy",
    ),
}
#: Memory whose first provider is another one than the first of the table: what host code reaches.
_FIRST = {"sycl-shared": "numpy", "cuda-shared": "numpy"}
_WORDS = {
    "host": "host and shared memory",
    "protected": "device memory of the host backend",
    "sycl-shared": "host and shared memory of a SYCL device",
    "cuda-shared": "host and shared memory of a GPU",
    "sycl-cpu": "device memory of a CPU",
    "sycl": "device memory of a SYCL device",
    "cuda": "device memory of an NVIDIA GPU",
}

_chosen: ContextVar[str | None] = ContextVar("usm_provider", default=None)
#: The name of the provider that the program has chosen, or None.
chosen = _chosen.get
_found: dict[tuple[str, str | None], Provider] = {}


def provider_for(memory: str) -> Provider:
    """The provider for a kind of memory in the words of ``_usm._place``."""
    key = (memory, _chosen.get())
    found = _found.get(key)
    if found is None:
        base = memory.removesuffix("-narrow")
        found = _load(_name_for(base, key[1]), base)
        if base != memory and not found.has_narrow:
            found = _load_class("_narrow", "NarrowProvider")(memory, found)
        _found[key] = found
    return found


def _name_for(memory: str, chosen: str | None) -> str:
    serving = [name for name, known in _KNOWN.items() if memory in known.memory]
    if chosen in serving:
        return chosen
    if memory in _FIRST:
        serving.sort(key=lambda name: name != _FIRST[memory])
    installed = [name for name in serving if _is_installed(name)]
    # Two libraries for GPUs do equally well.
    imported = [name for name in installed if name in ("cupy", "torch") and _KNOWN[name].package in sys.modules]
    if installed:
        return (imported or installed)[0] if memory == "cuda" else installed[0]
    choices = " or ".join(f"{name} ({_KNOWN[name].install})" for name in serving)
    raise Missing(
        f"no library that computes on {_WORDS[memory]} is installed: install {choices}; creation, indexing, copies, "
        "casts, comparisons and sum, min, max, all and any work without"
    )


def _is_installed(name: str) -> bool:
    package = _KNOWN[name].package
    module = sys.modules.get(package)
    try:
        return module is not None or find_spec(package) is not None
    except (ImportError, ValueError):  # ``None`` in sys.modules forbids an import
        return False


def _load(name: str, memory: str) -> Provider:
    module, _, cls = _KNOWN[name].home.partition(".")
    found: Provider = _load_class(module, cls)(memory)
    return found


def _load_class(module: str, cls: str) -> Any:
    with importing:
        return getattr(importlib.import_module(f"{__package__}.{module}"), cls)


def providers() -> dict[str, list[str]]:
    """The installed providers, and the memory that each serves, in words. Nothing is imported.

    >>> import usm.compute
    >>> isinstance(usm.compute.providers(), dict)
    True
    """
    return {name: [_WORDS[memory] for memory in known.memory] for name, known in _KNOWN.items() if _is_installed(name)}


class use_provider:
    """Choose who computes where several libraries can, from now on or for the lines of a ``with`` statement.

    `name` is ``"numpy"``, ``"dpnp"``, ``"cupy"`` or ``"torch"``; None gives the choice back. Memory that the library
    does not reach keeps its provider. The choice holds in this thread, and in tasks that begin later.

    Raises ValueError for another name, :class:`usm.compute.Missing` where the library is not installed.

    >>> import usm.tensor as ut
    >>> with ut.use_provider("numpy"):
    ...     (ut.ones(2, usm_type="host") + 1).tolist()
    [2.0, 2.0]
    """

    __slots__ = ("_token",)

    def __init__(self, name: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name: found a {type(name).__name__}, allowed are a str and None")
        if name is not None:
            if name not in _KNOWN:
                raise ValueError(f"name: found {name!r}, allowed are {', '.join(map(repr, sorted(_KNOWN)))} and None")
            if not _is_installed(name):
                raise Missing(f"name: {name} is not installed; {_KNOWN[name].install} installs it")
        self._token: Token[str | None] | None = _chosen.set(name)

    def __enter__(self) -> None:
        if self._token is None:
            raise RuntimeError("use_provider: this choice is over; make a new one for each with statement")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            token, self._token = self._token, None
            try:
                _chosen.reset(token)
            except ValueError:  # left in another context, as by a generator that somebody else closes
                pass
