"""Which provider computes on which memory."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from contextvars import ContextVar, Token
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from .._locate import importing
from .._usm import _reaches

if TYPE_CHECKING:
    from .._usm import SyclDevice
    from ._provider import Provider

__all__ = ["Missing", "chosen", "for_devices", "install", "provider_for", "providers", "use_provider"]


class Missing(ImportError):
    """The library that computes on this memory is not installed."""


class _Known(NamedTuple):
    """A provider that this package knows by the name of its module."""

    #: The class of this package for it.
    home: str
    #: What installs it.
    install: str


_KNOWN = {
    "numpy": _Known("_numpy.NumpyProvider", "pip install numpy"),
    "dpnp": _Known("_dpnp.DpnpProvider", "pip install dpnp"),
    "cupy": _Known("_cuda.CupyProvider", "pip install cupy-cuda13x array-api-compat"),
    "torch": _Known("_cuda.TorchProvider", "pip install torch array-api-compat"),
}


class _Memory(NamedTuple):
    """Memory by its word of ``_usm._place``."""

    text: str
    #: The names of its providers, the first choice first.
    providers: tuple[str, ...]


_MEMORY = {
    "host": _Memory("host and shared memory", ("numpy",)),
    "protected": _Memory("device memory of the host backend", ("numpy",)),
    "sycl-shared": _Memory("host and shared memory of a SYCL device", ("numpy", "dpnp")),
    "sycl-cpu": _Memory("device memory of a CPU", ("dpnp", "numpy")),
    "sycl": _Memory("device memory of a SYCL device", ("dpnp",)),
    "cuda-shared": _Memory("host and shared memory of a GPU", ("numpy", "cupy")),
    "cuda": _Memory("device memory of an NVIDIA GPU", ("cupy", "torch")),
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
        if base != memory:
            found = _made("_narrow", "NarrowProvider", memory, found)
        _found[key] = found
    return found


def _name_for(memory: str, chosen: str | None) -> str:
    text, serving = _MEMORY[memory]
    if chosen in serving:
        return chosen
    installed = [name for name in serving if _is_installed(name)]
    if memory == "cuda":
        # Both do equally well: the one that the program has imported comes first.
        installed.sort(key=lambda name: name not in sys.modules)
    if installed:
        return installed[0]
    choices = " or ".join(f"{name} ({_KNOWN[name].install})" for name in serving)
    raise Missing(
        f"no library that computes on {text} is installed: install {choices}; creation, indexing, copies, "
        "casts, comparisons and sum, min, max, all and any work without"
    )


def _is_installed(name: str) -> bool:
    try:
        return sys.modules.get(name) is not None or find_spec(name) is not None
    except (ImportError, ValueError):  # ``None`` in sys.modules forbids an import
        return False


def _load(name: str, memory: str) -> Provider:
    module, _, cls = _KNOWN[name].home.partition(".")
    found: Provider = _made(module, cls, memory)
    return found


def _made(module: str, cls: str, *arguments: object) -> Any:
    # Some constructors import the library.
    with importing:
        return getattr(importlib.import_module(f"{__package__}.{module}"), cls)(*arguments)


def providers() -> dict[str, list[str]]:
    """The installed providers, and the memory that each serves, in words. Nothing is imported.

    >>> import usm.compute
    >>> isinstance(usm.compute.providers(), dict)
    True
    """
    return {
        name: [memory.text for memory in _MEMORY.values() if name in memory.providers]
        for name in _KNOWN
        if _is_installed(name)
    }


def for_devices(devices: Iterable[SyclDevice]) -> dict[str, list[str]]:
    """The memory of devices in words, each with the installed libraries that compute on it, the first choice first."""
    memory = dict.fromkeys(word for device in devices for word in _reaches(device))
    return {_MEMORY[word].text: [name for name in _MEMORY[word].providers if _is_installed(name)] for word in memory}


def install(text: str) -> str:
    """The command that installs a library for memory, which is given by its words."""
    (memory,) = (memory for memory in _MEMORY.values() if memory.text == text)
    return _KNOWN["numpy" if "numpy" in memory.providers else memory.providers[0]].install


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
        if not isinstance(name, (str, type(None))):  # pyright: ignore[reportUnnecessaryIsInstance]
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
