# What type checkers know of `usm.dask`: dask has no types.
from collections.abc import Sequence
from typing import Any, Self

from .._usm import SyclDevice

__all__ = ["LocalCluster"]

class LocalCluster:
    def __init__(
        self,
        devices: Sequence[str | SyclDevice] | None = None,
        *,
        device_memory_limit: int | str | None = None,
        threads_per_worker: int = 1,
        **options: Any,
    ) -> None: ...
    def get_client(self) -> Any: ...
    def scale(self, n: int = 0, memory: Any = None, cores: Any = None) -> None: ...
    def close(self, timeout: float | None = None) -> Any: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None: ...
    # The rest is that of `distributed.LocalCluster`.
    def __getattr__(self, name: str) -> Any: ...
