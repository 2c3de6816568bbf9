"""Links of pages to files of the project that are no pages.

A link to the folder of a crate leads to its documentation by rustdoc, beside the pages. Other links lead to the
repository. A missing file is a warning.
"""

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)
#: A link of Markdown, with its target up to an anchor or a title.
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)#\s<>]+)(?P<anchor>#[^)\s]*)?(?=\))")
_CRATE = re.compile(r"crates/((?:usm|sycl)-(?:sys|derive|core|memory|array|python))")
_FENCE = re.compile(r"^ *(```+|~~~+)", re.MULTILINE)


def _outside_of_fences(text: str, change: Any) -> str:
    """The text with `change` applied to the lines that are in no block of code."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = None
        elif fence is None:
            line = change(line)
        lines.append(line)
    return "\n".join(lines)


def _rewrite(app: Sphinx, docname: str, content: list[str]) -> None:
    root = Path(app.srcdir)
    page = Path(app.env.doc2path(docname))
    if page.suffix != ".md":
        return

    def resolved(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        file = Path(os.path.normpath(page.parent / target))
        if not file.is_relative_to(root) or not file.exists():
            _LOGGER.warning("the link leads to no file: %s", target, location=docname)
            return match[0]
        inner = file.relative_to(root)
        if inner.with_suffix("").as_posix() in app.env.found_docs and inner.suffix in (".md", ".rst"):
            return match[0]
        if file.suffix == ".svg":
            return match[0]
        if crate := _CRATE.fullmatch(inner.as_posix()):
            return f"rustdoc:{crate[1].replace('-', '_')}"
        kind = "tree" if file.is_dir() else "blob"
        return f"{app.config.repository_url}/{kind}/main/{inner.as_posix()}{anchor}"

    content[0] = _outside_of_fences(content[0], lambda line: _LINK.sub(resolved, line))


def _lead_to_rustdoc(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in doctree.findall(nodes.reference):
        scheme, _, crate = node.get("refuri", "").partition(":")
        if scheme == "rustdoc":
            node["refuri"] = f"{'../' * docname.count('/')}rust/{crate}/index.html"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("repository_url", "", "env")
    app.connect("source-read", _rewrite)
    app.connect("doctree-resolved", _lead_to_rustdoc)
    return {"parallel_read_safe": True}
