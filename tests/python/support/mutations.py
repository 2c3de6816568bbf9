"""Random changes of valid values, and objects whose methods raise, lie or change what is around them."""

import datetime
import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

NUMBERS = [0, 1, -1, 2, 3, 7, 8, 63, 64, 65, 127, 255, 4095, 4096]
NUMBERS += [
    sign * 2**bits + by
    for bits in (15, 31, 32, 33, 47, 60, 62, 63, 64, 70, 200)
    for sign in (1, -1)
    for by in (-1, 0, 1)
]
#: From here on a number may ask for more memory than there is.
HUGE = 1 << 10
LETTERS = [
    "\0",
    "<",
    ">",
    "=",
    "|",
    ":",
    "*",
    ",",
    " ",
    "f",
    "i",
    "u",
    "c",
    "b",
    "V",
    "8",
    "4",
    "16",
    "-",
    "é",
    "\ud800",
    "\U0001f600",
]
TEXTS = [
    "",
    "device",
    "shared",
    "host",
    "C",
    "F",
    "A",
    "K",
    "|f8",
    "<i4",
    "|u1",
    "<c16",
    "|b1",
    "|V2",
    "bfloat16",
    "float64",
]
TEXTS += [
    "int8",
    "host:cpu:0",
    "opencl:cpu:0",
    "cuda:gpu:0",
    "level_zero:gpu",
    "*",
    "cpu",
    "gpu:1",
    "a" * 5000,
    "\0",
    "in_order",
]


class Planned:
    """What an exception is that an object of this module raises."""


#: They may come through, or stand as the reason of another one.
PLANNED = [
    type(f"Planned{base.__name__}", (Planned, base), {})
    for base in (
        *(ValueError, TypeError, RuntimeError, OverflowError, MemoryError, StopIteration, BufferError, KeyError),
        *(AttributeError, IndexError, ZeroDivisionError, OSError, BaseException, KeyboardInterrupt, GeneratorExit),
    )
]


class Mutator:
    """Makes values and changes them. `objects` are some more values, such as arrays and queues."""

    def __init__(self, objects: list[Any]) -> None:
        self.choice = random.Random(0)
        #: What an action of an object changes while somebody reads it.
        self.target: Any = None
        #: What nobody may catch, such as Ctrl-C.
        self.raised: list[BaseException] = []
        #: The product of the numbers that were made, as far as it matters for the memory that is asked for.
        self.product = 1
        self.objects = [
            *(None, True, False, ..., NotImplemented, 0.0, -0.0, 1.5, 1e308, float("nan"), float("inf"), 1j),
            *((), [], {}, set(), b"", b"\0" * 64, "text", object(), object, int, len, range(3)),
            *(
                slice(None),
                slice(2**70, None, -1),
                slice("a", 1.5),
                memoryview(b"\1\2\3"),
                bytearray(8),
                datetime.datetime_CAPI,
            ),
            *(_endless(), _deep(tuple), _deep(list), iter([1]), ValueError("a value"), gc, weakref.ref(Planned)),
            *objects,
        ]
        self.makers: list[Callable[[], Any]] = [self._number] * 4 + [self._text, self._object] * 2
        self.makers += [self._index, self._index, self._container, self._named, self._everything, self._range]

    def one_of(self, items: Any) -> Any:
        return items[int(self.choice.random() * len(items))]

    def is_huge(self) -> bool:
        return self.product >= HUGE

    # Values.

    def value(self) -> Any:
        return self.one_of(self.makers)()

    def _number(self) -> int:
        return self._counted(self.one_of(NUMBERS))

    def _counted(self, number: int) -> int:
        self.product *= max(1, abs(number))
        return number

    def _text(self) -> str:
        return self.one_of(TEXTS)

    def _object(self) -> Any:
        return self.one_of(self.objects)

    def _range(self) -> range:
        self.product = HUGE
        return self.one_of((range(2**63), range(2**70), range(-1, 2**62)))

    def _index(self) -> Any:
        """An object with `__index__`, which answers with a number or something else, after an action."""
        action, answer = self.one_of(ACTIONS), self.one_of([1, 0, 2, self._number(), "text", None])
        return self.one_of([Index, IntegerIndex])(self, action, answer)

    def _container(self) -> Any:
        content = [self.one_of([1, 2, self._number()]) for _ in range(int(self.choice.random() * 4))]
        return self.one_of([tuple, list, self._lying])(content)

    def _lying(self, content: Any) -> Any:
        # Its length may be more than there is memory.
        self.product = HUGE
        return self.one_of([LyingList, LyingTuple])(content)

    def _named(self) -> Any:
        self.product = HUGE
        return self.one_of([LyingText, LyingBytes])(self.one_of(["<f8", "host", 8]))

    def _everything(self) -> Any:
        return Everything(self, self.one_of(ACTIONS))

    # Changes.

    def changed(self, value: Any, times: int = 1) -> Any:
        """The value with some of its parts changed."""
        for _ in range(times):
            value = self._changed(value)
        return value

    def _changed(self, value: Any) -> Any:
        if self.choice.random() < 0.1:
            return self.value()
        change = self.changes.get(type(value))
        return change(self, value) if change is not None else self.value()

    def _of_number(self, value: int) -> int:
        number = self.one_of(
            [value + 1, value - 1, -value, 2 * value, value ^ 1 << int(self.choice.random() * 64), None]
        )
        if number is None:
            return self._number()
        return self._counted(number)

    def _of_text(self, value: str) -> str:
        at = int(self.choice.random() * (len(value) + 1))
        letter = self.one_of(LETTERS)
        return self.one_of(
            [
                value[:at] + letter + value[at:],
                value[:at] + letter + value[at + 1 :],
                value[:at] + value[at + 1 :],
                value[:at],
                value + value,
                self._text(),
            ]
        )

    def _of_bytes(self, value: bytes) -> bytes:
        at = int(self.choice.random() * (len(value) + 1))
        kind = self.choice.random()
        if kind < 0.6 and at < len(value):
            byte = value[at] ^ 1 << int(self.choice.random() * 8) if kind < 0.3 else self.one_of(b"\0\1\x7f\x80\xff.")
            return value[:at] + bytes([byte]) + value[at + 1 :]
        if kind < 0.7:
            return value[:at]
        if kind < 0.8:
            return value[:at] + self.choice.randbytes(1 + int(kind * 80) % 8) + value[at:]
        to = int(self.choice.random() * (len(value) + 1))
        return value[:at] + value[to : to + 16] + value[at:] if kind < 0.9 else value[:at] + value[to:]

    def _of_list(self, value: list[Any]) -> list[Any]:
        value = list(value)
        kind = self.choice.random()
        at = int(self.choice.random() * len(value)) if value else 0
        if not value or kind < 0.1:
            value.insert(at, self.value())
        elif kind < 0.7:
            value[at] = self._changed(value[at])
        elif kind < 0.8:
            del value[at]
        elif kind < 0.9:
            value.append(self._counted(value[at]) if type(value[at]) is int else value[at])
        else:
            value = self._lying(value)
        return value

    def _of_tuple(self, value: tuple[Any, ...]) -> Any:
        changed = self._of_list(value)  # type: ignore[arg-type]
        return tuple(changed) if type(changed) is list and self.choice.random() < 0.9 else changed

    def _of_dict(self, value: dict[Any, Any]) -> Any:
        value = dict(value)
        kind, key = self.choice.random(), self.one_of(list(value)) if value else "data"
        if kind < 0.8 and value:
            value[key] = self._changed(value[key])
        elif kind < 0.9:
            value.pop(key, None)
        elif kind < 0.95:
            value[self.one_of(["mask", "descr", "extra", 1, None, LyingText("shape")])] = self.value()
        else:
            value = LyingDict(value)
        self.target = value
        return value

    changes: dict[type, Callable[["Mutator", Any], Any]] = {
        int: _of_number,
        str: _of_text,
        bytes: _of_bytes,
        list: _of_list,
        tuple: _of_tuple,
        dict: _of_dict,
    }


def _endless() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


def _deep(kind: type) -> Any:
    deep: Any = 1
    for _ in range(100_000):
        deep = kind([deep])
    return deep


# What objects do while somebody reads them.


def _nothing(_: Mutator) -> None:
    pass


def _raise(mutator: Mutator) -> None:
    error = mutator.one_of(PLANNED)("planned")
    if not isinstance(error, Exception):
        mutator.raised.append(error)
    raise error


def _collect(mutator: Mutator) -> None:
    # Most of the time without the oldest objects, which takes long.
    gc.collect(0 if mutator.choice.random() < 0.9 else 1)


def _clear(mutator: Mutator) -> None:
    if isinstance(mutator.target, dict | list | bytearray):
        mutator.target.clear()


def _refill(mutator: Mutator) -> None:
    if isinstance(mutator.target, dict):
        for key in list(mutator.target):
            mutator.target[key] = mutator._object()
    elif isinstance(mutator.target, list):
        mutator.target[:] = [mutator._object() for _ in range(50)]


ACTIONS = [_nothing, _nothing, _raise, _raise, _collect, _clear, _refill]


class Index:
    def __init__(self, mutator: Mutator, action: Callable[[Mutator], None], answer: Any) -> None:
        self.mutator, self.action, self.answer = mutator, action, answer

    def __index__(self) -> Any:
        self.action(self.mutator)
        return self.answer


class IntegerIndex(int):
    """An integer that says it is another one."""

    def __new__(cls, mutator: Mutator, action: Callable[[Mutator], None], answer: Any) -> "IntegerIndex":
        self = super().__new__(cls, 1)
        self.mutator, self.action, self.answer = mutator, action, answer
        return self

    def __index__(self) -> Any:
        self.action(self.mutator)
        return self.answer

    __int__ = __str__ = __repr__ = __index__


class Everything:
    """Any attribute and any operation: an action, then an answer that fits nothing."""

    def __init__(self, mutator: Mutator, action: Callable[[Mutator], None]) -> None:
        self.__dict__.update(mutator=mutator, action=action)

    def __getattr__(self, name: str) -> Any:
        self.action(self.mutator)
        return self.mutator._object()

    def _answer(self, *_: Any, **__: Any) -> Any:
        self.action(self.mutator)
        return self.mutator._object()

    __len__ = __iter__ = __next__ = __getitem__ = __call__ = __bool__ = __float__ = __int__ = __index__ = _answer
    __str__ = __repr__ = __hash__ = __eq__ = __complex__ = __enter__ = __buffer__ = __fspath__ = _answer


class LyingList(list[Any]):
    def __len__(self) -> int:
        return 2**40

    def __getitem__(self, at: Any) -> Any:
        return "text"

    def __iter__(self) -> Any:
        return iter("text")


class LyingTuple(tuple[Any, ...]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, at: Any) -> Any:
        raise PLANNED[0]("planned")


class LyingDict(dict[Any, Any]):
    def __getitem__(self, key: Any) -> Any:
        return None

    def get(self, key: Any, default: Any = None) -> Any:
        return 2**70

    def __contains__(self, key: Any) -> bool:
        return False

    def __len__(self) -> int:
        return 0


class LyingText(str):
    def __str__(self) -> Any:
        return 3

    def __hash__(self) -> int:
        return hash("shape")

    def __eq__(self, other: object) -> Any:
        return PLANNED

    def __len__(self) -> int:
        return 2**40


class LyingBytes(bytes):
    def __new__(cls, _: Any) -> "LyingBytes":
        return super().__new__(cls, b"<f8")

    def __len__(self) -> int:
        return 2**40

    def __bytes__(self) -> Any:
        return "text"
