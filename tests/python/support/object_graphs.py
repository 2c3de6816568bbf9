"""Random graphs of objects under Python's collector, as a campaign of `rounds`.

A node has an array whose elements are the number of the node, and objects that arrays give: views, memory, buffers,
capsules, dicts, events, iterators, generators. Nodes link to each other at random, also in cycles. The collector runs
at each allocation, and in another thread. The elements of a reachable node never change, and its finalizer has not run.
At the end of a round each finalizer has run once, and no memory is left.

Imported arrays keep their producer, and the collector does not see it. So nodes of the upper layer import from nodes of
the lower one, which never link to the upper layer.
"""

import gc
import random
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Generator
from queue import SimpleQueue
from typing import Any

import usm
import usm.memory as um
import usm.tensor as ut

from .dlpack import CapsuleExporter
from .interface import Producer
from .rounds import Balance

OPERATIONS = 2_000
ROOTS = 24
KINDS = ["shared", "shared", "host", "device"]
MEMORY = {"host": um.MemoryUSMHost, "device": um.MemoryUSMDevice, "shared": um.MemoryUSMShared}
LENGTHS = (1, 2, 5, 16, 64, 300)


class Node:
    """Anything that holds an array, and links to others."""

    def __init__(self, graph: "Graph", layer: int, number: int, array: ut.usm_ndarray) -> None:
        self.finalized, self.layer, self.number, self.array = graph.finalized, layer, number, array
        #: The numbers of finalizers from outside.
        self.finalizers: list[int] = []
        self.links: dict[int, Node] = {}
        self.parts: dict[str, Any] = {}

    def __del__(self) -> None:
        self.finalized[self.number] += 1
        # It still works, wherever the collector calls it.
        assert self.array.shape[0] > 0


class Publisher(Node):
    """A node that others import from."""

    @property
    def __sycl_usm_array_interface__(self) -> Any:
        return self.array.__sycl_usm_array_interface__

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Returning(Node):
    """A node that its finalizer brings back. Python calls the finalizer once."""

    def __init__(self, graph: "Graph", layer: int, number: int, array: ut.usm_ndarray) -> None:
        super().__init__(graph, layer, number, array)
        self.returned = graph.returned

    def __del__(self) -> None:
        super().__del__()
        self.returned.append(self)


def _memory_class(base: type) -> type:
    class OwnMemory(base):  # type: ignore[misc]
        """Memory that links to nodes."""

    return OwnMemory


OWN_MEMORY = {kind: _memory_class(base) for kind, base in MEMORY.items()}


def _generator(node: Node) -> Generator[int]:
    array = node.array
    yield node.number
    yield int(array[0])


def _error(node: Node) -> BaseException:
    """An exception whose traceback has the frame that has the exception, and the array."""
    array = node.array
    try:
        array[node.number : "wrong"]
    except (TypeError, IndexError) as found:
        error = found
    return error


class Graph:
    def __init__(self, device: str) -> None:
        self.queue = usm.SyclQueue(device, property="in_order")
        self.choice = random.Random(0)
        self.finalized: Counter[int] = Counter()
        self.returned: list[Node] = []
        #: The lower layer links to itself, the upper one to both.
        self.layers: list[list[Node | None]] = [[None] * ROOTS, [None] * ROOTS]
        self.made = self.watched = 0
        self.has_device_tensors = not device.startswith("host")
        self.dropped: SimpleQueue[Any] = SimpleQueue()
        self.operations = [
            *[(self.make, 4), (self.link, 6), (self.unlink, 2), (self.give, 6), (self.take_away, 2), (self.look, 8)],
            *[
                (self.import_, 3),
                (self.collect, 1),
                (self.watch, 1),
                (self.move, 1),
                (self.drop, 1),
                (self.hand_over, 1),
            ],
        ]
        self.weighted = [operation for operation, weight in self.operations for _ in range(weight)]

    def one_of(self, items: Any) -> Any:
        return items[int(self.choice.random() * len(items))]

    def start(self, choice: random.Random) -> None:
        self.choice, self.made, self.watched = choice, 0, 0
        self.finalized.clear()

    def has_tensors(self, node: Node) -> bool:
        """DLPack has no device for device memory of the host backend."""
        return self.has_device_tensors or node.array.usm_type != "device"

    # Operations.

    def new(self, layer: int) -> Node:
        self.made += 1
        number, kind = self.made, self.one_of(KINDS)
        array = ut.full(self.one_of(LENGTHS), number, "i8", usm_type=kind, sycl_queue=self.queue)
        kinds = (Publisher, Publisher, Node, Returning) if layer == 0 else (Node, Node, Node, Returning)
        return self.one_of(kinds)(self, layer, number, array)

    def make(self) -> None:
        layer = self.one_of((0, 1))
        self.layers[layer][int(self.choice.random() * ROOTS)] = self.new(layer)

    def node(self, layer: int) -> Node:
        """A node of a layer, at the end of some links."""
        roots = self.layers[layer]
        node = self.one_of(roots)
        if node is None:
            node = roots[int(self.choice.random() * ROOTS)] = self.new(layer)
        for _ in range(self.one_of((0, 0, 1, 2))):
            links = [other for other in node.links.values() if other.layer == layer]
            if links:
                node = self.one_of(links)
        return node

    def link(self) -> None:
        layer = self.one_of((0, 1))
        self.node(layer).links[self.one_of(range(4))] = self.node(self.one_of(range(layer + 1)))

    def unlink(self) -> None:
        node = self.node(self.one_of((0, 1)))
        if node.links:
            del node.links[self.one_of(list(node.links))]

    def give(self) -> None:
        node = self.node(self.one_of((0, 1)))
        name = self.one_of(list(GIVEN))
        if (part := GIVEN[name](self, node)) is not None:
            node.parts[name] = part

    def take_away(self) -> None:
        node = self.node(self.one_of((0, 1)))
        if node.parts:
            del node.parts[self.one_of(list(node.parts))]

    def look(self) -> None:
        self.check(self.node(self.one_of((0, 1))))

    def import_(self) -> None:
        below, node = self.node(0), self.node(1)
        if isinstance(below, Publisher):
            part = self.one_of(IMPORTS)(self, below)
            node.parts["imported"] = (part, below.number)

    def collect(self) -> None:
        gc.collect(self.one_of((0, 1, 2)))
        self.returned.clear()

    def watch(self) -> None:
        """Weak references, with a callback that keeps something itself."""
        node, told = self.node(self.one_of((0, 1))), self.node(1)
        array = node.array[::-1]
        calls: list[Any] = []
        told.parts["reference"] = weakref.ref(node, lambda _: calls.append(array)), calls, node.number
        told.parts["array reference"] = weakref.ref(node.array)
        if self.choice.random() < 0.3:
            self.watched += 1
            node.finalizers.append(-self.watched)
            weakref.finalize(node, self.finalized.update, [-self.watched])

    def move(self) -> None:
        """The array of a node becomes a view or a copy of itself. A publisher keeps what others have imported."""
        node = self.node(self.one_of((0, 1)))
        if isinstance(node, Publisher):
            return
        node.array = self.one_of((lambda a: a[::-1], lambda a: a.copy(), lambda a: a[:1], lambda a: a.T))(node.array)

    def drop(self) -> None:
        layer = self.layers[self.one_of((0, 1))]
        layer[int(self.choice.random() * ROOTS)] = None

    def hand_over(self) -> None:
        """Another thread has it last."""
        layer, at = self.one_of(self.layers), int(self.choice.random() * ROOTS)
        node, layer[at] = layer[at], None
        self.dropped.put(node)

    # Checks.

    def check(self, node: Node) -> None:
        """Nobody has finalized the node, and its elements are what they were."""
        number = node.number
        ran = [of for of in (number, *node.finalizers) if of in self.finalized]
        assert not ran, f"node {number} is reachable, and its finalizers {ran} ran"
        self.check_elements(node.array, number)
        for name, part in list(node.parts.items()):
            CHECKS[name](self, node, part)

    def check_elements(self, array: Any, number: int) -> None:
        found = array.tolist()
        expected = [number] * len(found) if isinstance(found, list) else number
        assert found == expected, f"node {number} has the elements {found}"

    def check_all(self) -> None:
        seen: set[int] = set()
        waiting = [node for layer in self.layers for node in layer if node is not None]
        while waiting:
            node = waiting.pop()
            if id(node) not in seen:
                seen.add(id(node))
                self.check(node)
                waiting += node.links.values()

    def finish(self) -> None:
        """All is dropped; each finalizer has run once."""
        self.check_all()
        self.layers = [[None] * ROOTS, [None] * ROOTS]
        expected = {number: 1 for number in (*range(1, self.made + 1), *range(-self.watched, 0))}
        until = time.monotonic() + 30
        while dict(self.finalized) != expected:
            gc.collect()
            self.returned.clear()
            if time.monotonic() > until:
                wrong = {number: self.finalized[number] for number in expected if self.finalized[number] != 1}
                raise AssertionError(f"how often finalizers ran: {wrong}")
        self.returned.clear()


# What a node gives, and what must be true of it later.


def _host(node: Node) -> bool:
    return node.array.usm_type != "device"


def _own_memory(graph: Graph, node: Node) -> Any:
    memory = OWN_MEMORY[node.array.usm_type](64, queue=graph.queue)
    memory.memset(node.number % 251)
    memory.node, memory.me, memory.part = node, memory, memory[8:16]
    return memory


def _event(graph: Graph, node: Node) -> Any:
    memory = MEMORY[node.array.usm_type](64, queue=graph.queue)
    return graph.queue.memset_async(memory, 3), memory


GIVEN: dict[str, Callable[[Graph, Node], Any]] = {
    "view": lambda graph, node: node.array[:: graph.one_of((1, -1, 2))],
    "memory": lambda graph, node: node.array.usm_data,
    "slice": lambda graph, node: um.as_usm_memory(node.array)[:8],
    "own memory": _own_memory,
    "buffer": lambda graph, node: memoryview(node.array).toreadonly() if _host(node) else None,
    "iterator": lambda graph, node: iter(node.array),
    "generator": lambda graph, node: _generator(node),
    "interface": lambda graph, node: (node.array.__sycl_usm_array_interface__, node.array),
    "capsule": lambda graph, node: node.array.__dlpack__(max_version=(1, 0)) if graph.has_tensors(node) else None,
    "queue": lambda graph, node: usm.SyclQueue(graph.queue.sycl_device),
    "event": _event,
    "flags": lambda graph, node: node.array.flags,
    "method": lambda graph, node: node.array.tolist,
    "closure": lambda graph, node: lambda: (node.array, node),
    "error": lambda graph, node: _error(node),
    "device": lambda graph, node: node.array.device,
    "self": lambda graph, node: [node, node.array],
}


def _imported(graph: Graph, node: Node, part: Any) -> None:
    array, number = part
    if isinstance(array, ut.usm_ndarray):
        graph.check_elements(array, number)
    else:
        assert bytes(array.tobytes()[:8]) == number.to_bytes(8, "little"), number


def _capsule(graph: Graph, node: Node, capsule: Any) -> None:
    """A consumer takes the tensor: a capsule gives it once."""
    pair = node.array.__dlpack_device__()
    graph.check_elements(ut.from_dlpack(CapsuleExporter(lambda: capsule, pair)), node.number)
    del node.parts["capsule"]


def _reference(graph: Graph, node: Node, part: Any) -> None:
    reference, calls, number = part
    target = reference()
    if target is None:
        assert len(calls) == 1, f"the callback of node {number} ran {len(calls)} times"
        graph.check_elements(calls[0], number)
    else:
        assert not calls
        graph.check_elements(target.array, number)


def _own(graph: Graph, node: Node, memory: Any) -> None:
    assert memory.part.tobytes() == bytes([memory.node.number % 251]) * 8


def _elements(graph: Graph, node: Node, part: Any) -> None:
    graph.check_elements(part, node.number)


def _bytes(graph: Graph, node: Node, part: Any) -> None:
    assert part.tobytes()[:8] == node.number.to_bytes(8, "little"), node.number


def _next(graph: Graph, node: Node, part: Any) -> None:
    try:
        assert int(next(part)) == node.number
    except StopIteration:
        pass


def _interface(graph: Graph, node: Node, part: Any) -> None:
    graph.check_elements(ut.asarray(Producer(*part)), node.number)


def _any(graph: Graph, node: Node, part: Any) -> None:
    pass


def _event_of(graph: Graph, node: Node, part: Any) -> None:
    event, memory = part
    event.wait()
    assert memory.tobytes() == b"\3" * 64


CHECKS: dict[str, Callable[[Graph, Node, Any], None]] = {
    "view": _elements,
    "memory": _bytes,
    "slice": _bytes,
    "own memory": _own,
    "buffer": lambda graph, node, part: _elements(graph, node, part),
    "iterator": _next,
    "generator": _next,
    "interface": _interface,
    "capsule": _capsule,
    "event": _event_of,
    "method": lambda graph, node, part: _elements(graph, node, part.__self__),
    "closure": lambda graph, node, part: _elements(graph, part()[1], part()[1].array),
    "imported": _imported,
    "reference": _reference,
    "array reference": _any,
    "queue": _any,
    "flags": _any,
    "error": _any,
    "device": _any,
    "self": _any,
}


IMPORTS: list[Callable[[Graph, Publisher], Any]] = [
    lambda graph, node: ut.asarray(node),
    lambda graph, node: ut.asarray(node)[::-1],
    lambda graph, node: um.as_usm_memory(node),
    lambda graph, node: ut.from_dlpack(node) if graph.has_tensors(node) else ut.asarray(node),
    lambda graph, node: ut.asarray(Producer(node.__sycl_usm_array_interface__, node)),
    lambda graph, node: ut.usm_ndarray((1,), "i8", buffer=um.as_usm_memory(node)),
]


class _Finalized(Producer):
    count = 0

    def __del__(self) -> None:
        type(self).count += 1


def _in_background(work: Callable[[], None]) -> None:
    def repeat() -> None:
        while True:
            work()

    # What it raises is printed, and then the campaign fails.
    threading.Thread(target=repeat, daemon=True).start()


def prepare(device: str) -> Callable[[random.Random], Counter[str]]:
    """The function of a round. Other threads collect, drop nodes, and view imported memory all the time."""
    graph = Graph(device)
    memory = MEMORY["shared"](64, queue=graph.queue)
    viewed = [ut.asarray(_Finalized(memory.__sycl_usm_array_interface__, memory)) for _ in range(8)]

    def view() -> None:
        for imported in viewed:
            memoryview(imported).release()
        um.snapshot()
        assert _Finalized.count == 0, "a producer is finalized, and its memory is in use"
        time.sleep(0.0005)

    def collect() -> None:
        gc.collect()
        time.sleep(0.0005)

    balance = Balance(graph.queue)
    gc.collect()
    gc.freeze()
    for work in (view, collect, graph.dropped.get):
        _in_background(work)

    def play(choice: random.Random) -> Counter[str]:
        graph.start(choice)
        with balance:
            gc.set_threshold(1)
            for _ in range(OPERATIONS):
                graph.one_of(graph.weighted)()
            gc.set_threshold(700, 10, 10)
            graph.finish()
        return Counter(operations=OPERATIONS, nodes=graph.made, finalizers=graph.watched)

    return play
