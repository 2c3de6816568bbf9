"""Drawings in a real browser: light and dark, narrow and wide, by keyboard, by mouse, and as a tree of roles."""

import collections

import pytest

import usm.memory as um
import usm.tensor as ut

from support import browser as chromium

WIDTHS = (420, 1280)
NAMES = ("array", "column", "snapshot", "memory", "device")
#: Texts that lie on each other, by their boxes, without the parts of one text.
COVERED = """
(() => {
  const all = [...document.querySelectorAll("svg text")];
  const texts = all.map(text => [text.textContent, text.getBoundingClientRect()]);
  const found = [];
  texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
    const apart = a.right <= b.left + 0.5 || b.right <= a.left + 0.5 || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
    if (!apart) found.push(one + " / " + other);
  }));
  return found;
})()
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    path = chromium.program()
    if path is None:
        pytest.skip("no Chromium is installed")
    with chromium.running(path, tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def pages(host_queue):
    a = ut.reshape(ut.asarray(list(range(24)), "f8", usm_type="shared", sycl_queue=host_queue), (4, 6))
    memory = um.MemoryUSMHost(1000, queue=host_queue)
    memory.set_tag("weights <b>")
    page = "<!DOCTYPE html><html lang='en'><body style='margin:0'>{}</body></html>".format
    return {
        "array": page(a[::-1, ::2]._repr_html_()),
        "column": page(ut.broadcast_to(a[1, ::-2], (2, 3))._repr_html_()),
        "snapshot": um.snapshot().to_html(),
        "memory": page(memory._repr_html_()),
        "device": page(host_queue.sycl_device._repr_html_()),
    }, (a, memory)


def parts(rows):
    """The ground of a drawing, and for each square of 8 pixels, whether something is drawn there."""
    ground = collections.Counter(pixel for row in rows for pixel in row).most_common(1)[0][0]
    drawn = set()
    for y, row in enumerate(rows):
        drawn.update((y // 8, x // 8) for x, pixel in enumerate(row) if abs(pixel - ground) > 40)
    return ground, drawn


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_light_and_dark_drawings_have_the_same_parts(browser, pages, name, width):
    grounds, drawn = {}, {}
    for is_dark in (False, True):
        browser.show(pages[0][name], width=width, dark=is_dark)
        assert browser.value(COVERED) == []
        # Wide parts scroll in place of the page.
        assert browser.value("document.documentElement.scrollWidth") <= width
        grounds[is_dark], drawn[is_dark] = parts(browser.screenshot()[2])
    assert grounds[False] > 220 and grounds[True] < 40
    common, either = drawn[False] & drawn[True], drawn[False] | drawn[True]
    assert len(either) > 20 and len(common) > 0.85 * len(either)


@pytest.mark.parametrize(("theme", "is_dark"), [("true", False), ("false", True)])
def test_the_theme_of_a_notebook_wins(browser, pages, theme, is_dark):
    page = pages[0]["array"].replace("<body", f"<body data-jp-theme-light='{theme}'")
    browser.show(page, width=800, dark=not is_dark)
    for part in (".usm-view", ".usm-layout"):
        style = f"getComputedStyle(document.querySelector('{part}')).backgroundColor"
        assert browser.value(style) == ("rgb(13, 17, 23)" if is_dark else "rgb(255, 255, 255)")


def focused(browser):
    return browser.value("document.activeElement.className")


def test_a_snapshot_is_filtered_by_keyboard(browser, pages):
    browser.show(pages[0]["snapshot"], width=1280, dark=False)
    shown = "[...document.querySelectorAll('tbody tr[data-kind]')].filter(row => row.offsetParent !== null)"

    def kinds():
        return set(browser.value(f"{shown}.map(row => row.dataset.kind)"))

    before = kinds()
    assert {"host", "shared"} <= before
    seen = []
    while not (seen and seen[-1] == "usm-kind-host"):
        browser.press("Tab")
        seen.append(focused(browser))
        assert len(seen) < 30, seen
    assert browser.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("Space")
    assert kinds() == before - {"host"}
    browser.press("Space")
    assert kinds() == before
    while focused(browser) != "usm-scroll":
        browser.press("Tab")
        seen.append(focused(browser))
        assert len(seen) < 60, seen
    # Labels have a box each.
    assert browser.value(
        "[...document.querySelectorAll('fieldset label')].some(l => l.textContent.includes('weights <b>'))"
    )


def test_a_row_tells_what_it_is_when_it_is_pointed_at(browser, pages):
    browser.show(pages[0]["snapshot"], width=1280, dark=False)
    row = "document.querySelector('tbody tr[data-kind]')"
    colour = f"getComputedStyle({row}.querySelector('td')).backgroundColor"
    before = browser.value(colour)
    x, y = browser.value(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({row}.getBoundingClientRect())")
    browser.move(x, y)
    assert browser.value(colour) == "rgb(255, 243, 196)" != before
    assert browser.value(f"{row}.querySelector('.usm-life').title").startswith("for ")


def test_the_tree_of_roles(browser, pages):
    browser.show(pages[0]["array"], width=1280, dark=False)
    tree = browser.tree()
    assert ("region", "float64 array of shape (4, 3)") in tree
    for name in ("shape", "dtype", "strides", "kind", "memory", "lives on", "owner", "access"):
        assert ("rowheader", name) in tree, tree
    [drawing] = [name for role, name in tree if role in ("image", "img")]
    assert (
        "axis 0: 4 elements, stride -6 (backwards)" in drawing and "axis 1: 3 elements, stride 2 (forwards)" in drawing
    )
    assert any(role == "region" and name == "elements" for role, name in tree)

    browser.show(pages[0]["snapshot"], width=1280, dark=False)
    tree = browser.tree()
    for name in ("address", "size", "kind", "owner", "device", "label"):
        assert ("columnheader", name) in tree, tree
    assert any(role == "checkbox" and name.startswith("host (") for role, name in tree)
    assert {"group", "heading", "main"} <= {role for role, _ in tree}
