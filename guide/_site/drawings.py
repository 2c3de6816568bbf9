"""Drawings of the guide stand inside of the pages, so that they follow the theme that the reader has chosen."""

import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

#: The style has the colours of a drawing that stands alone; the site has its own, in static/usm.css.
_STYLE = re.compile(r"<style>.*?</style>\s*", re.DOTALL)


def _embed(app: Sphinx, doctree: nodes.document) -> None:
    page = Path(app.env.doc2path(app.env.docname))
    for number, image in enumerate(list(doctree.findall(nodes.image))):
        file = page.parent / image["uri"]
        if "://" in image["uri"] or not file.exists() or file.suffix != ".svg":
            continue
        app.env.note_dependency(str(file))
        svg = _STYLE.sub("", file.read_text(encoding="utf-8")).strip()
        # The marks of arrows are found by their names, which must be unique in the page.
        svg = re.sub(r'(id="|url\(#)', rf"\g<1>d{number}-", svg)
        label = html.escape(image.get("alt", ""), quote=True)
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
        image.replace_self(nodes.raw("", f'<div class="usm-drawing" tabindex="0">{svg}</div>', format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", _embed, priority=400)
    return {"parallel_read_safe": True}
