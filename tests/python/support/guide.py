"""The programs of the guide and of the README, as they stand there.

All Python blocks of a page are one program, in their order. These comments stand before a block:

- ``<!-- program -->`` begins another program there, and ``<!-- program needs NAME, NAME -->`` one that needs these
  libraries or devices;
- ``<!-- raises NAME -->``: the block ends by this exception, and the program goes on.

A block of text that follows a Python block directly is its output, where ``...`` stands for any text.
"""

import dataclasses
import pathlib
import re
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[3]
FOLDER = ROOT / "guide"
_COMMENT = re.compile(r"^<!-- (.*?) -->$")
#: Ends the output of a block. Processes that the program starts read it again, and print none.
_SEPARATOR = "\x1e"
_PRINT_SEPARATOR = f"if __name__ == '__main__': print({_SEPARATOR!r})"


@dataclasses.dataclass
class Block:
    """A block of code, with its first line in the file, counted from 1, and the comments before it."""

    language: str
    line: int
    code: list[str]
    comments: list[str]
    output: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.code) + "\n"


@dataclasses.dataclass
class Program:
    """Python blocks that run one after the other in a process."""

    page: str
    needs: list[str]
    blocks: list[Block]

    @property
    def name(self) -> str:
        return f"{self.page}:{self.blocks[0].line}"

    def source(self) -> str:
        """The program, with each line at its place in the page."""
        lines: list[str] = []
        for block in self.blocks:
            lines += [""] * (block.line - 1 - len(lines))
            raised = next((comment[7:] for comment in block.comments if comment.startswith("raises ")), None)
            if raised is None:
                lines += block.code
            else:
                # On the line of the fence, so that all others keep their places.
                lines[-1:] = ["try:"]
                lines += [f"    {line}" for line in block.code]
                lines += [f"except {raised} as error: print(type(error).__name__ + ':', error)"]
                lines += [f"else: raise SystemExit('line {block.line}: no {raised}')"]
            lines += [_PRINT_SEPARATOR]
        return "\n".join(lines) + "\n"


def outputs(printed: str) -> list[str]:
    """What each block of a program printed."""
    return printed.split(f"{_SEPARATOR}\n")[:-1]


def blocks(file: pathlib.Path) -> Iterator[Block]:
    """The blocks of code of a page."""
    lines = file.read_text(encoding="utf-8").split("\n")
    comments: list[str] = []
    block: Block | None = None
    fence, indent, previous = "", 0, None
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if block is not None:
            if text == fence:
                if block.language == "text" and previous is not None:
                    previous.output = block.text
                previous = block if block.language == "python" else None
                yield block
                block = None
            else:
                block.code.append(line[indent:])
        elif mark := re.match(r"( *)(```+)(.*)", line):
            indent, fence = len(mark[1]), mark[2]
            block, comments = Block(mark[3].strip(), number + 1, [], comments), []
        elif comment := _COMMENT.match(text):
            comments.append(comment[1])
        elif text:
            comments, previous = [], None
    assert block is None, f"{file} has a block without an end"


def pages() -> list[pathlib.Path]:
    return [page for page in [ROOT / "README.md", *sorted(FOLDER.rglob("*.md"))] if page.exists()]


def programs() -> list[Program]:
    found = []
    # The programs of that page end with errors: `test_errors_teach.py` runs them.
    for file in (file for file in pages() if file != FOLDER / "errors.md"):
        page = file.relative_to(FOLDER if FOLDER in file.parents else ROOT).with_suffix("").as_posix()
        of_page: list[Program] = []
        for block in list(blocks(file)):
            if block.language != "python":
                continue
            begins = [comment for comment in block.comments if comment.split()[0] == "program"]
            if begins or not of_page:
                _, _, needs = (begins or [""])[0].partition("needs ")
                of_page.append(Program(page, [name for name in needs.split(", ") if name], []))
            of_page[-1].blocks.append(block)
        found += of_page
    return found
