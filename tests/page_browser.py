"""The page in a real browser: what its tests have in common."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, expect

from processes import wait_until
from varfocus.app.server import static_folder

CHROMIUM = os.environ.get("VARFOCUS_CHROMIUM") or shutil.which("chromium")
SCREENSHOTS = os.environ.get("VARFOCUS_SCREENSHOTS")
PATIENCE = 120_000
expect.set_options(timeout=PATIENCE)

NEEDS_BROWSER = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: the page was NOT tested in a browser"),
    pytest.mark.skipif(
        not (static_folder() / "index.html").is_file(),
        reason="the page is not built (make page): it was NOT tested in a browser",
    ),
]


def launched(playwright: Playwright, *flags: str) -> Browser:
    local_only = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    return playwright.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", local_only, *flags]
    )


def complaint(message: ConsoleMessage) -> str:
    """Return an error of the page; nothing for failed requests that belong to its life."""
    provoked = "status of 400" in message.text  # a test asked for something wrong
    late = "status of 404" in message.text and "/api/results/" in message.location["url"]
    # late: a tile of a result that was replaced while it was asked for
    overtaken = "status of 409" in message.text  # by a newer request of the same kind
    return "" if provoked or late or overtaken else f"{message.text} {message.location['url']}"


def newest_link(page: Page) -> str:
    """Return where the depth of the current result lies; empty if it is not written."""
    links = page.locator("a[data-product='depth.tif']").all()
    return str(links[0].get_attribute("href")) if links else ""


def reconstruct(page: Page) -> None:
    """Reconstruct, and wait for what that brings: not for what was there before."""
    before = newest_link(page)
    page.click("#run")
    finished(page, before)


def finished(page: Page, before: str = "") -> None:
    """Wait until a result is written, another one than `before`, and nothing goes on."""
    page.wait_for_selector(f"a[data-product='depth.tif']:not([href='{before}'])")
    expect(page.locator("#progress")).to_be_hidden()


def picture(page: Page, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")


def wait_for_colours(page: Page, selector: str, more_than: int) -> None:
    """Wait until a canvas shows more than so many different colours."""
    page.wait_for_function(
        """([selector, count]) => {
            const canvas = document.querySelector(selector);
            const copy = document.createElement("canvas");
            [copy.width, copy.height] = [200, 150];
            const context = copy.getContext("2d");
            context.drawImage(canvas, 0, 0, 200, 150);
            const data = new Uint32Array(context.getImageData(0, 0, 200, 150).data.buffer);
            return new Set(data).size > count;
        }""",
        arg=[selector, more_than],
    )


def wait_for_maps(page: Page, *maps: str) -> None:
    """Wait until the panes have drawn these maps, or any other for "*", of the newest result."""
    link = page.locator("a[data-product='depth.tif']").get_attribute("href")
    (version,) = re.findall(r"results/(\d+)/", str(link))
    keys = {"*": r"\S+", "frame": r"frame/\d+"}
    drawn = " ".join(keys.get(name, f"{version}/{name}/full") for name in maps)
    expect(page.locator("#panes canvas").first).to_have_attribute(
        "data-shown", re.compile(f"^{drawn}$")
    )


def steady(page: Page, selector: str) -> bytes:
    """Return a picture of an element that no longer changes."""
    seen = [b""]

    def same_again() -> bool:
        expect(page.locator("[data-drawing]")).to_have_count(0)
        seen.append(page.locator(selector).screenshot())
        return seen[-1] == seen[-2]

    wait_until(same_again, f"steady picture of {selector}")
    return seen[-1]


def image_place(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return where on the screen a share of the first pane lies."""
    expect(page.locator(".pane-head")).to_have_count(1)
    box = page.locator(".overlay").bounding_box()
    assert box is not None
    return box["x"] + box["width"] * x, box["y"] + box["height"] * y


def one_pane(page: Page, map_name: str) -> None:
    page.click("[data-view='1']")
    page.select_option(".pane-map", map_name)
    wait_for_maps(page, map_name)


def drag(page: Page, tool: str, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw with a tool from one place to another, both as shares of the first pane."""
    page.click(f"[data-tool={tool}]")
    page.mouse.move(*image_place(page, *start))
    page.mouse.down()
    page.mouse.move(*image_place(page, *end), steps=4)
    page.mouse.up()


def pinch(page: Page) -> None:
    """Spread two fingers on the maps."""
    page.evaluate(
        """() => {
            const maps = document.querySelector(".overlay");
            maps.setPointerCapture = () => undefined;  // of fingers that are made up
            const box = maps.getBoundingClientRect();
            const [x, y] = [box.left + box.width / 4, box.top + box.height / 4];
            const finger = (type, pointerId, dx) =>
                maps.dispatchEvent(new PointerEvent(type, {
                    pointerId, pointerType: "touch", clientX: x + dx, clientY: y, bubbles: true,
                }));
            finger("pointerdown", 1, -30);
            finger("pointerdown", 2, 30);
            for (const apart of [60, 90, 120]) {
                finger("pointermove", 1, -apart);
                finger("pointermove", 2, apart);
            }
            finger("pointerup", 1, -120);
            finger("pointerup", 2, 120);
        }"""
    )
