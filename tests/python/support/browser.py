"""A headless Chromium, driven through a pipe: pages at a width and in a theme, by keyboard, and as a tree of roles."""

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from typing import Any

#: Where it is installed under one of these names.
NAMES = ("chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser. Commands are those of the Chrome DevTools Protocol."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._answers, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def show(self, page: str, *, width: int, dark: bool) -> None:
        """A page of HTML in a window of `width` pixels, for a reader who prefers dark or light pages."""
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        frame = self.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
        self.call("Page.setDocumentContent", frameId=frame, html=page)

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """A key of `KEYS`, down and up."""
        for direction in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=direction, **KEYS[key])

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def tree(self) -> list[tuple[str, str]]:
        """Role and name of each node that assistive technology gets."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        shown = [node for node in nodes if not node.get("ignored")]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in shown]

    def screenshot(self) -> tuple[int, int, list[bytes]]:
        """Width, height, and the rows of luminance, one byte for each pixel: the window, in half of its size."""
        sizes = self.call("Page.getLayoutMetrics")["cssLayoutViewport"]
        clip = {"x": 0, "y": 0, "width": sizes["clientWidth"], "height": sizes["clientHeight"], "scale": 0.5}
        answer = self.call("Page.captureScreenshot", format="png", clip=clip)
        return luminance(base64.b64decode(answer["data"]))


KEYS = {
    "Tab": {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9},
    "Space": {"key": " ", "code": "Space", "text": " ", "windowsVirtualKeyCode": 32},
}


#: The browser reads commands from descriptor 3 and writes answers to 4.
LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


@contextlib.contextmanager
def running(path: str, folder: pathlib.Path) -> Iterator[Browser]:
    """A browser of its own, without the network, with its files in `folder`."""
    command, commands = os.pipe()
    answers, answer = os.pipe()
    # Above the numbers that the browser expects.
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (command, answer)]
    for end in (command, answer):
        os.close(end)
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
        "--disable-dev-shm-usage", f"--user-data-dir={folder}", "--remote-debugging-pipe",
    ]  # fmt: skip

    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, *map(str, theirs), path, *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=theirs,
    )
    for end in theirs:
        os.close(end)
    try:
        yield Browser(commands, answers)
    finally:
        os.close(commands)
        os.close(answers)
        process.terminate()
        process.wait(30)


def luminance(png: bytes) -> tuple[int, int, list[bytes]]:
    """A screenshot of 8 bits for each channel, as Chromium writes it."""
    position, data, head = 8, b"", b""
    while position < len(png):
        (length,) = struct.unpack(">I", png[position : position + 4])
        kind, content = png[position + 4 : position + 8], png[position + 8 : position + 8 + length]
        head = content if kind == b"IHDR" else head
        data += content if kind == b"IDAT" else b""
        position += 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", head[:10])
    channels = {2: 3, 6: 4}[colour]
    assert depth == 8
    raw, step = zlib.decompress(data), width * channels
    rows, before = [], bytearray(step)
    for y in range(height):
        filter_type, *_ = raw[y * (step + 1) : y * (step + 1) + 1]
        row = bytearray(raw[y * (step + 1) + 1 : (y + 1) * (step + 1)])
        _unfilter(filter_type, row, before, channels)
        rows.append(
            bytes((r * 3 + g * 6 + b) // 10 for r, g, b in zip(*(row[c::channels] for c in range(3)), strict=True))
        )
        before = row
    return width, height, rows


def _unfilter(filter_type: int, row: bytearray, before: bytearray, channels: int) -> None:
    """The filters of PNG, section 9."""
    for i in range(len(row)) if filter_type else ():
        left = row[i - channels] if i >= channels else 0
        corner = before[i - channels] if i >= channels else 0
        above = before[i]
        if filter_type == 1:
            guess = left
        elif filter_type == 2:
            guess = above
        elif filter_type == 3:
            guess = (left + above) // 2
        else:
            distances = [abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)]
            guess = (left, above, corner)[distances.index(min(distances))]
        row[i] = (row[i] + guess) & 0xFF
