"""Queues, contexts and devices of this package which dpctl takes as its own.

dpctl takes objects of its own classes only, and its ``==`` answers False for all
others without asking them. Once a program has imported dpctl, the queues,
contexts and devices that this package makes are therefore objects of subclasses
of dpctl's classes: for dpctl they are its own, and their public attributes are
those of the object of this package inside.
"""

from operator import attrgetter
from typing import Any

__all__ = ["joint_class"]


def joint_class(ours: type, theirs: type) -> type:
    """A subclass of dpctl's class `theirs` with the attributes of `ours`.

    ``joint(start, inside)`` makes an object from an argument of `theirs` and an object of `ours` for the same thing.
    """

    def new(cls: Any, start: object, inside: object) -> Any:
        made: Any = theirs.__new__(cls, start)
        made._inside = inside
        made._kept = {}
        return made

    def equal(self: object, other: object) -> bool:
        return bool(inside(self) == other)

    def unequal(self: object, other: object) -> bool:
        return not equal(self, other)

    def hash_of(self: object) -> int:
        return hash(inside(self))

    def text(self: object) -> str:
        return repr(inside(self))

    def reduced(self: object) -> Any:
        return inside(self).__reduce__()

    def itself(self: object, *_memo: object) -> object:
        return self

    def our_class(self: object) -> type:
        return ours

    def submission(name: str, theirs: type) -> Any:
        # Kernels of dpctl run on such a queue as they do on one of dpctl.
        def submit(self: object, kernel: Any, *args: Any, **named: Any) -> Any:
            from ._usm import SyclKernel

            if isinstance(kernel, SyclKernel):
                return getattr(inside(self), name)(kernel, *args, **named)
            return getattr(theirs, name)(self, kernel, *args, **named)

        submit.__doc__ = getattr(ours, name).__doc__
        return submit

    def lasting(name: str) -> Any:
        # dpctl reads a pointer from the result, lets the result go, and uses the pointer.
        def get(self: Any) -> object:
            if name not in self._kept:
                self._kept[name] = getattr(inside(self), name)()
            return self._kept[name]

        get.__doc__ = getattr(ours, name).__doc__
        return get

    inside = attrgetter("_inside")
    names = [name for name in dir(ours) if not name.startswith("__")]
    attributes: dict[str, Any] = {
        name: property(attrgetter(f"_inside.{name}"), doc=getattr(ours, name).__doc__) for name in names
    }
    for name in {"submit", "submit_async"} & attributes.keys():
        attributes[name] = submission(name, theirs)
    for name in {"get_sycl_context", "get_sycl_device"} & attributes.keys():
        attributes[name] = lasting(name)
    special: dict[str, Any] = {
        # No other attribute can be set, as with objects of `ours`.
        "__slots__": ("_inside", "_kept") if theirs.__weakrefoffset__ else ("_inside", "_kept", "__weakref__"),
        "__doc__": ours.__doc__,
        "__module__": ours.__module__,
        "__new__": new,
        "__eq__": equal,
        "__ne__": unequal,
        "__hash__": hash_of,
        "__repr__": text,
        "__reduce__": reduced,
        "__copy__": itself,
        "__deepcopy__": itself,
        # What `isinstance` asks beside the type, which is a subclass of `theirs`.
        "__class__": property(our_class),
    }
    return type(ours.__name__, (theirs,), {**attributes, **special})
