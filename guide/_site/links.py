"""Checks each link inside of the built site, and each link between the Markdown files of the project.

    python links.py SITE ROOT

Links to other hosts are not followed.
"""

import html.parser
import os
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path

_FENCED = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)|^\[[^\]]+\]: (\S+)", re.MULTILINE)
_HEADING = re.compile(r"^#+ +(.*?) *#*$", re.MULTILINE)


class _Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := of.get(name)))
        # `link` names icons and styles; a canonical address is one of another host.
        for name in ("href", "src"):
            if (value := of.get(name)) is not None:
                self.links.append(value)


def _parts(link: str) -> tuple[str, str] | None:
    """Path and anchor of a link that stays here."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    return urllib.parse.unquote(parts.path), urllib.parse.unquote(parts.fragment)


def of_site(site: Path) -> tuple[int, list[str]]:
    """The number of links between the pages, and the broken ones. rustdoc checks the links of its own pages."""
    pages: dict[Path, _Page] = {}

    def page(file: Path) -> _Page:
        if file not in pages:
            pages[file] = _Page(file.read_text(encoding="utf-8"))
        return pages[file]

    count, broken = 0, []
    for file in sorted(site.rglob("*.html")):
        # The theme has templates among its files.
        if file.is_relative_to(site / "rust") or file.is_relative_to(site / "_static"):
            continue
        for link in page(file).links:
            parts = _parts(link)
            if parts is None:
                continue
            count += 1
            path, anchor = parts
            target = Path(os.path.normpath(file.parent / path)) if path else file
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                broken.append(f"{file.relative_to(site)}: {link} leads to no file")
            elif anchor and target.suffix == ".html" and anchor not in page(target).anchors:
                broken.append(f"{file.relative_to(site)}: {link} leads to no anchor")
    return count, broken


def _slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def of_repository(root: Path) -> tuple[int, list[str]]:
    """The same for links between files of the repository, seen from the Markdown files that git knows."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    names = subprocess.run(listed, cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    texts = {root / name: (root / name).read_text(encoding="utf-8") for name in names if (root / name).is_file()}
    texts = {file: _FENCED.sub("", text) for file, text in texts.items()}
    count, broken = 0, []
    for file, text in texts.items():
        for match in _LINK.finditer(text):
            link = match[1] or match[2]
            parts = _parts(link.strip("<>"))
            if parts is None:
                continue
            count += 1
            path, anchor = parts
            target = Path(os.path.normpath(file.parent / path)) if path else file
            if not target.exists():
                broken.append(f"{file.relative_to(root)}: {link} leads to no file")
            elif anchor and target in texts:
                anchors = {_slug(heading) for heading in _HEADING.findall(texts[target])}
                if anchor not in anchors:
                    broken.append(f"{file.relative_to(root)}: {link} leads to no heading")
    return count, broken


def main() -> int:
    site, root = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    failed = False
    for where, (count, broken) in {"the site": of_site(site), "the repository": of_repository(root)}.items():
        print("\n".join(broken + [f"{where}: {count} links, {len(broken)} broken"]))
        # No link at all means that nothing was checked.
        failed |= bool(broken) or not count
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
