"""Large arrays: strided copies into existing ones, and new ones of 64 MiB. The Rust program has the loops by hand."""

from collections.abc import Iterator

from case import Case, Names, each
from sides import DPNP, NUMPY, USM, Side, names
from yardstick import beside

MIB = 1 << 20
NUMBERS = 8 * MIB

# Ours and dpnp's, and NumPy's where it is another one.
RESULTS = {
    "copy(a)": ("xp.copy(a)", None),
    "asnumpy(a)": ("xp.asnumpy(a)", "xp.array(a)"),
    "zeros(n)": ("xp.zeros(n, dtype='f8', **kind)", None),
    "full(n, 1.5)": ("xp.full(n, 1.5, dtype='f8', **kind)", None),
    "arange(n)": ("xp.arange(n, dtype='f8', **kind)", None),
    "arange(2 * n) f4": ("xp.arange(2 * n, dtype='f4', **kind)", None),
    "linspace(0, 1, n)": ("xp.linspace(0, 1, n, dtype='f8', **kind)", None),
    "asarray(host.T)": ("xp.asarray(host.T, **kind)", "xp.array(host.T, order='C')"),
    "astype(f8 to f4)": ("xp.astype(a, 'f4')", None),
    "asnumpy of 4 elements of 64 MiB": ("xp.asnumpy(a[1000:1004])", "xp.array(a[1000:1004])"),
}


def copies() -> Iterator[tuple[str, tuple[int, ...], str, str, str]]:
    """Name, shape and dtype of `a`, the view of it that is copied, and the dtype of the target."""
    for mib in [1, 4, 8, 16, 32, 64]:
        yield f"contiguous {mib} MiB", (mib * MIB,), "u1", "a", "u1"
    for dtype, itemsize in [("u1", 1), ("f4", 4), ("f8", 8), ("c16", 16)]:
        yield f"a[::2] {dtype}", (64 * MIB // itemsize,), dtype, "a[::2]", dtype
    for view in ["a[::-1, ::-1]", "a[::-1]", "a[:, ::2]", "a[::2, :]", "a[1:-1, 1:-1]"]:
        yield f"{view} f8", (2048, 2048), "f8", view, "f8"
    yield "a[..., ::2] f4", (16, 1024, 1024), "f4", "a[..., ::2]", "f4"
    for view in ["[:, ::2]", "[:, :3]", "[:, 1]"]:
        yield f"(n, 4){view} f8", (2 * MIB, 4), "f8", f"a{view}", "f8"
    matrices = [("u1", 8192, 8192), ("f4", 4096, 4096), ("f8", 4096, 2048), ("c16", 2048, 2048)]
    for dtype, rows, columns in [*matrices, ("f8", 3000, 2700), ("f8", 256, 256), ("f8", 724, 724), ("f8", 1024, 512)]:
        yield f"transpose {dtype} {rows}x{columns}", (rows, columns), dtype, "a.T", dtype
    for dtype, itemsize in [("u1", 1), ("f4", 4)]:
        yield f"planes to pixels {dtype}", (3, 16 * MIB // itemsize), dtype, "a.T", dtype
        yield f"pixels to planes {dtype}", (16 * MIB // itemsize, 3), dtype, "a.T", dtype
    for axes in ["(2, 0, 1)", "(0, 2, 1)", "(1, 0, 2)", "(2, 1, 0)"]:
        yield f"permute {axes}", (128, 256, 256), "f8", f"xp.permute_dims(a, {axes})", "f8"
    for rank, side in [(3, 256), (4, 64), (6, 16), (8, 8)]:
        axes = tuple(reversed(range(rank)))
        yield f"all axes reversed f4 rank {rank}", (side,) * rank, "f4", f"xp.permute_dims(a, {axes})", "f4"
        axes = (*range(rank - 2), rank - 1, rank - 2)
        yield f"last two axes swapped f4 rank {rank}", (side,) * rank, "f4", f"xp.permute_dims(a, {axes})", "f4"
    for rank, side in [(2, 2048), (4, 48), (6, 14), (8, 8)]:
        trimmed = ", ".join(["1:-1"] * rank)
        yield f"halo trimmed f8 rank {rank}", (side,) * rank, "f8", f"a[{trimmed}]", "f8"
    yield "row into a matrix f8", (2048,), "f8", "xp.broadcast_to(a, (2048, 2048))", "f8"
    yield "column into a matrix f8", (2048, 1), "f8", "xp.broadcast_to(a, (2048, 2048))", "f8"
    for source, target in [("f4", "f8"), ("i4", "f4"), ("f8", "f4")]:
        yield f"cast {source} to {target}", (8 * MIB,), source, "a", target


def operands(side: Side, shape: tuple[int, ...], dtype: str, view: str, target: str) -> Names:
    made = names(side, a=(shape, dtype))
    # Touched: pages that were never written are one page of zeros.
    made["a"][...] = 1
    made["v"] = eval(view, {"a": made["a"], "xp": made["xp"]})
    made |= names(side, b=(made["v"].shape, target))
    made["b"][...] = 0
    return made


def sources(side: Side) -> Names:
    import numpy

    made = names(side, a=((NUMBERS,), "f8"))
    made["a"][...] = 1
    return made | {"n": NUMBERS, "host": numpy.ones((4096, 2048))}


def results() -> Iterator[Case]:
    for name, (statement, numpys) in RESULTS.items():
        contenders = []
        for side in (USM, NUMPY, DPNP):
            own = numpys if side is NUMPY and numpys else statement
            # A result on the host is complete.
            own = own if "asnumpy" in name else side.finished(f"r = {own}", "r")
            contenders += each([side], own, sources, repeats=10 if "4 elements" in name else 1)
        yield Case(f"new/{name}", contenders)


def cases() -> Iterator[Case]:
    for name, *what in copies():
        sides = ([side, side.finished("b[...] = v", "b")] for side in (USM, NUMPY, DPNP))
        contenders = [each([side], statement, operands, *what, repeats=1)[0] for side, statement in sides]
        yield Case(f"copy/{name}", contenders)
    # The bound of one of them is a time.
    yield from beside(results())
