"""The public interface of the installed wheel as text, one item a line, for a comparison with its baseline.

``python tests/python/support/public_interface.py`` writes the baseline anew.
"""

import enum
import importlib
import inspect
import types
from pathlib import Path

#: The modules whose ``__all__`` users rely on, and that need no other library.
MODULES = ("usm", "usm.ipc", "usm.memory", "usm.program", "usm.tensor", "usm.tensor.fft", "usm.tensor.linalg")
#: Beginnings of the names of protocols between libraries. What operators and the collector call is in no list.
PROTOCOLS = ("__array_", "__cuda_", "__dlpack", "__partitioned", "__sycl_", "__usm_")
#: The baseline, which lies beside this file.
BASELINE = Path(__file__).parent / "public_interface.txt"


def signature(obj):
    """The parameters of a function or class, or ``(...)`` where they are not known; nothing for other objects."""
    # That of an enumeration is Python's, and differs between its versions.
    if not callable(obj) or (isinstance(obj, type) and issubclass(obj, enum.Enum)):
        return ""
    try:
        text = str(inspect.signature(obj))
    except (TypeError, ValueError):
        return "(...)"
    # A default value that is an object has its address in the text.
    return "(...)" if " at 0x" in text else text


def members(cls):
    """The public attributes that a class has from us."""
    for name in sorted(dir(cls)):
        is_ours = any(name in vars(base) and base.__module__.startswith("usm") for base in cls.__mro__)
        if not is_ours or (name.startswith("_") and not name.startswith(PROTOCOLS)):
            continue
        is_property = inspect.isdatadescriptor(inspect.getattr_static(cls, name))
        yield f".{name}: property" if is_property else f".{name}{signature(getattr(cls, name))}"


def lines():
    """Each public name with its parameters; a class with its members."""
    tensor = importlib.import_module("usm.tensor")
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in sorted(module.__all__):
            obj = getattr(module, name)
            path = f"{module_name}.{name}"
            if path == "usm.tensor.dtype" or isinstance(obj, (tensor.dtype, tensor.DType)):
                # NumPy's where it is installed, and else ours.
                yield f"{path}: dtype"
            elif isinstance(obj, type):
                bases = ", ".join(base.__name__ for base in obj.__bases__)
                yield f"class {path}{signature(obj)} of {bases}"
                yield from (f"{path}{member}" for member in members(obj))
            elif isinstance(obj, types.ModuleType):
                yield f"module {path}"
            elif callable(obj):
                yield f"{path}{signature(obj)}"
            else:
                yield f"{path}: {type(obj).__name__}"


def text():
    """The whole interface."""
    return "".join(f"{line}\n" for line in lines())


if __name__ == "__main__":
    BASELINE.write_text(text())
