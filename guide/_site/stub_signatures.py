"""Signatures of the reference come from the stubs, with their types."""

import ast
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import usm


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = ast.unparse(node.args)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({arguments}){result}"


class _Stubs:
    """Signatures by names: of functions, and of methods behind the name of their class."""

    def __init__(self, folder: Path) -> None:
        self.found: dict[str, list[str]] = {}
        for file in [folder / "_usm.pyi", *sorted(folder.glob("tensor/*.pyi"))]:
            self._read(ast.parse(file.read_text(encoding="utf-8")).body, "")

    def _read(self, body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.found.setdefault(prefix + node.name, []).append(_of_function(node))
            elif isinstance(node, ast.ClassDef):
                self._read(node.body, f"{node.name}.")


def setup(app: Sphinx) -> dict[str, bool]:
    stubs = _Stubs(Path(usm.__file__).parent)

    def signature(
        app: Sphinx, what: str, name: str, obj: Any, options: Any, given: str | None, result: str | None
    ) -> Any:
        if what not in ("function", "method", "class"):
            return None
        parts = name.split(".")
        key = ".".join(parts[-2:]) if what == "method" else parts[-1] + (".__new__" if what == "class" else "")
        of_stub = stubs.found.get(key)
        if not of_stub:
            return None
        first = of_stub[0]
        for prefix in ("(self, ", "(cls, "):
            first = first.replace(prefix, "(", 1) if first.startswith(prefix) else first
        first = first.replace("(self)", "()", 1) if first.startswith("(self)") else first
        arguments, arrow, back = first.rpartition(" -> ")
        if not arrow:
            return first, ""
        return arguments, "" if what == "class" else back

    def docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
        # Docstrings are plain text: a bar is no substitution, except in literals and in examples.
        for number, line in enumerate(lines):
            parts = line.split("``")
            if "|" in line and not line.startswith((">>>", "...", "(", "[")):
                parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
                lines[number] = "``".join(parts)

    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", docstring)
    return {"parallel_read_safe": True}
