"""Take the pictures of the page anew: python docs/images/page.py (Chromium, ``make page``).

Everything is the page's own example, a simulated scene.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import varfocus

HERE = Path(__file__).parent
QUALITY = 80
SIZE = {"width": 1280, "height": 800}


def seen(page: Page) -> Image.Image:
    """Return what is on the screen when nothing is being drawn any more."""
    page.bring_to_front()
    page.wait_for_function("() => !document.querySelector('[data-drawing]')")
    page.wait_for_timeout(1500)  # for the last tiles
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def keep(name: str, *shots: Image.Image) -> None:
    """Write pictures side by side as one."""
    gap = 16 if len(shots) > 1 else 0
    width = sum(shot.width + gap for shot in shots) - gap
    whole = Image.new("RGB", (width, max(shot.height for shot in shots)), "white")
    left = 0
    for shot in shots:
        whole.paste(shot, (left, 0))
        left += shot.width + gap
    whole.save(HERE / f"page-{name}.jpg", quality=QUALITY, optimize=True)


def opened(browser: Browser, address: str, **options: object) -> Page:
    """Open the page."""
    page = browser.new_context(**({"viewport": SIZE} | options)).new_page()  # type: ignore[arg-type]
    page.set_default_timeout(300_000)
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    return page


def finished(page: Page, act: Callable[[], object]) -> None:
    """Do something, and wait for the result that comes of it."""
    links = page.locator("a[data-product='depth.tif']")
    before = links.first.get_attribute("href") if links.count() else ""
    act()
    page.wait_for_selector(f"a[data-product='depth.tif']:not([href='{before}'])", state="attached")
    page.wait_for_selector("#progress", state="hidden")


def at(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return where on the screen a share of the maps is."""
    box = page.locator(".overlay").bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def drag(page: Page, tool: str, *places: tuple[float, float]) -> None:
    """Draw with a tool."""
    page.click(f"[data-tool={tool}]")
    page.mouse.move(*at(page, *places[0]))
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*at(page, *place), steps=6)
    page.mouse.up()


def pictures(browser: Browser, address: str, server: subprocess.Popen[str]) -> None:
    """Walk through the page as somebody would who sees it for the first time."""
    page = opened(browser, address)
    keep("welcome", seen(page))
    page.click("#try")
    page.wait_for_selector("#strip li")
    page.wait_for_selector("#progress", state="hidden")
    narrow = opened(browser, address, viewport={"width": 360, "height": 740})
    small = [seen(narrow)]
    finished(page, lambda: page.click("#run"))
    page.mouse.click(*at(page, 0.56, 0.28))
    page.wait_for_selector("#curve canvas")
    keep("maps", seen(page))
    page.click("[data-view='3d']")
    page.wait_for_selector("#surface-canvas")
    keep("surface", seen(page))
    small.append(seen(narrow))
    narrow.click("[data-view='3d']")
    narrow.wait_for_selector("#surface-canvas")
    keep("narrow", *small, seen(narrow))
    narrow.context.close()
    page.bring_to_front()
    page.click("[data-view='1']")
    page.select_option(".pane-map", "depth")
    drag(page, "step", (0.3, 0.25), (0.38, 0.4))
    drag(page, "step", (0.2, 0.75), (0.28, 0.85))
    drag(page, "line", (0.25, 0.45), (0.8, 0.4))
    page.wait_for_selector("#measured canvas")
    keep("measure", seen(page))
    page.get_by_role("button", name="Remove all").click()
    page.locator(".message button").last.click()
    page.locator("#knob").focus()
    finished(page, lambda: [page.keyboard.press("ArrowRight") for _ in range(30)])
    page.locator("button:enabled[aria-label^='Compare']").click()
    page.wait_for_selector("#comparison")
    keep("compare", seen(page))
    page.get_by_role("button", name="End the comparison").click()
    drag(page, "retouch", (0.5, 0.2), (0.55, 0.25), (0.6, 0.2))
    page.wait_for_selector("#command:has-text('--retouch')")
    keep("retouch", seen(page))
    page.click("[data-tool=probe]")
    with tempfile.TemporaryDirectory() as folder:
        for name, scene in (("beetle", "steps"), ("moss", "cosine")):
            stack = Path(folder) / name
            stack.mkdir()
            for k, frame in enumerate(varfocus.simulate(scene, shape=(300, 400), n=8).frames):
                Image.fromarray(frame).save(stack / f"shot_{k}.png")
            page.set_input_files("#folder", stack)
            page.locator("dialog button", has_text="Queue").click()
            page.wait_for_selector(f"[data-queued]:has-text('{name}')")
    page.wait_for_selector("[data-state=done]")
    page.click("#queue-button")
    keep("queue", seen(page))
    german = opened(browser, address, locale="de-DE", color_scheme="dark")
    german.click("[data-tool=probe]")
    german.click("[data-view='wipe']")
    keep("german", seen(german))
    german.context.close()
    page.click("[data-view='2']")
    server.kill()
    server.wait()
    page.wait_for_selector("#offline")
    keep("offline", seen(page))
    page.context.close()


def main() -> None:
    """Take them all."""
    with tempfile.TemporaryDirectory() as sessions, sync_playwright() as playwright:
        command = [sys.executable, "-m", "varfocus", "app", "--no-browser", "--sessions", sessions]
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("VARFOCUS_CHROMIUM") or shutil.which("chromium"),
            args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
        )
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                pictures(browser, server.stdout.readline().strip(), server)
            finally:
                server.kill()
        browser.close()


if __name__ == "__main__":
    main()
