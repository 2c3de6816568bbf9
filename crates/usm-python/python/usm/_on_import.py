"""Registrations with other libraries, made when somebody imports them.

An import of such a library takes longer than that of this package, which must not cause it. A finder in front of the
others therefore watches for a few modules. When one of them has been loaded, a function of ours runs.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

__all__ = ["watch"]

#: Modules of other libraries, and what registers with each: a module of this package and its function, which gets the
#: other module.
_WATCHED = {
    "dask.array": ("dask._chunks", "register"),
    "distributed.comm.tcp": ("dask._handles", "register"),
    "distributed.protocol": ("dask._frames", "register"),
    "joblib.externals.loky.backend.reduction": ("ipc", "_register_loky"),
    "joblib.pool": ("ipc", "_register_pool"),
    "loky.backend.reduction": ("ipc", "_register_loky"),
    "multiprocessing.reduction": ("ipc", "_register_forking"),
    "zarr.core.buffer.cpu": ("zarr._values", "register"),
}


def _register(name: str, module: Any) -> None:
    from importlib import import_module

    home, function = _WATCHED[name]
    try:
        getattr(import_module(f"{__package__}.{home}"), function)(module)
    except (AttributeError, ImportError) as error:
        # A later release of the library. Its user gets the library without our arrays, and hears of it.
        import warnings

        warnings.warn(f"usm has no registration with this release of {name}: {error}", RuntimeWarning, stacklevel=2)


class _Loader:
    """A loader that calls a function of ours once the module is loaded."""

    def __init__(self, loader: Any, name: str) -> None:
        self._loader = loader
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _register(self._name, module)


class _Finder:
    """A finder of the watched modules, which asks the other finders for them."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: ModuleType | None = None, /) -> Any:
        if name not in _WATCHED:
            return None
        others = (finder for finder in sys.meta_path if finder is not _Finder)
        specs = (finder.find_spec(name, path, target) for finder in others if hasattr(finder, "find_spec"))
        spec: Any = next((spec for spec in specs if spec is not None), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, name)
        return spec


def watch() -> None:
    """Register with the modules that are loaded, and with the others when they are."""
    for name in _WATCHED:
        module = sys.modules.get(name)
        if module is not None:
            _register(name, module)
    sys.meta_path.insert(0, _Finder)
