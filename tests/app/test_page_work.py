"""The page in a real browser: what is shown counts, nothing is lost, any hand reaches all.

Every test here fails on the first version of the page. Screenshots go to the folder that
VARFOCUS_SCREENSHOTS names, if any.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from command_line import write_pictures
from page_browser import (
    NEEDS_BROWSER,
    PATIENCE,
    drag,
    finished,
    image_place,
    one_pane,
    picture,
    pinch,
    reconstruct,
    wait_for_colours,
    wait_for_maps,
)
from processes import wait_until
from varfocus.simulation import simulate

pytestmark = NEEDS_BROWSER
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
SIZES = [(360, 740), (900, 700), (1440, 900)]


@contextmanager
def served(sessions: Path, *source) -> Iterator[tuple[str, subprocess.Popen]]:
    """Run ``varfocus app`` on a folder of sessions; the block may kill it."""
    command = [sys.executable, "-m", "varfocus", "app", "--no-browser", "--sessions", sessions]
    with subprocess.Popen(
        [*map(str, command), *map(str, source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def sessions(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("sessions")


@pytest.fixture(scope="module")
def shots(tmp_path_factory) -> Path:
    """Frames of a scene whose first frame is the nearest, moved a little from one to the next."""
    frames = simulate("steps", shape=(112, 144), n=6).frames
    moved = [np.roll(frame, k - 2, axis=1)[8:-8, 8:-8] for k, frame in enumerate(frames)]
    return write_pictures(tmp_path_factory.mktemp("shots"), moved, "shot")


@pytest.fixture(scope="module")
def address(sessions: Path, shots: Path) -> Iterator[str]:
    with served(sessions, shots) as (address, _):
        yield address


def opened(
    browser: Browser, address: str, before: Callable[[Page], object] = lambda _: None, **options
) -> Page:
    """Open the page; `before` is called when there is nothing in it yet."""
    options.setdefault("viewport", {"width": 1280, "height": 800})
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(PATIENCE)
    before(page)
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    return page


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page with two results of the method “classic”, windows of 9 and 21 pixels."""
    page = opened(browser, address)
    page.wait_for_selector("#strip li")
    page.select_option("#method", "classic")
    page.click("summary")
    page.select_option("#parameter-align", "shift")
    page.click("summary")
    reconstruct(page)
    first = version(page)
    page.locator("#knob").evaluate(
        """(knob) => {
            knob.value = 9 / 29;
            for (const kind of ["input", "change"]) knob.dispatchEvent(new Event(kind));
        }"""
    )
    page.wait_for_selector(f"a[data-product='depth.tif']:not([href*='/{first}/'])")
    finished(page)
    expect(page.locator(".results li")).to_have_count(2)
    yield page
    page.context.close()


def version(page: Page) -> str:
    link = page.locator("a[data-product='depth.tif']").get_attribute("href")
    (number,) = re.findall(r"results/(\d+)/", str(link))
    return number


def depth_at(page: Page, number: str, x: int, y: int) -> float:
    """Return the depth of a result at a pixel, as its own map says."""
    return page.evaluate(
        """async ([number, x, y]) => {
            const state = await (await fetch("/api/state")).json();
            const result = state.results.find((r) => r.version === Number(number));
            const tile = await fetch(`/api/results/${number}/depth/full/0/0/0`);
            const depth = new Float32Array(await tile.arrayBuffer());
            return depth[(y - result.place[1]) * result.width + x - result.place[0]];
        }""",
        [number, x, y],
    )


def test_one_current_result_drives_everything(page: Page) -> None:
    one_pane(page, "depth")
    newest = version(page)
    page.locator(".results [data-result]").nth(1).click()
    expect(page.locator("a[data-product='depth.tif']")).not_to_have_attribute(
        "href", re.compile(f"/{newest}/")
    )
    older = version(page)
    wait_for_maps(page, "depth")  # of the version that the downloads name
    expect(page.locator("#outcome h3")).to_contain_text("Window 9")
    for share in (0.3, 0.5, 0.62):
        page.mouse.click(*image_place(page, share, 0.45))
        page.mouse.move(*image_place(page, share, 0.45))
        words = page.locator("#readout").inner_text()
        x, y = (int(number) for number in re.findall(r"\d+", words)[:2])
        expect(page.locator("#facts dd").first).to_have_text(f"{x}, {y}")
        here = f"{float(f'{depth_at(page, older, x, y):.4g}'):g} frames"
        assert here in words
        expect(page.locator("#facts dd").nth(1)).to_have_text(here)
    picture(page, "results")
    page.locator(".results [data-result]").nth(0).click()
    expect(page.locator("#outcome h3")).to_contain_text("Window 2")


def test_results_are_compared_in_one_range_with_their_difference(page: Page) -> None:
    page.locator("button:enabled[aria-label^='Compare with the current result']").click()
    shown = page.locator("#panes canvas").first
    expect(shown).to_have_attribute(
        "data-shown", re.compile(r"(\d+)/depth/full (?!\1)\d+/depth/full \S+/minus-")
    )
    expect(page.locator("#comparison")).to_contain_text("One range of colours")
    page.mouse.move(*place_in(page, 0))
    expect(page.locator("#readout")).to_have_text(re.compile("Depth .* Depth .* Difference"))
    values = [
        float(v)
        for v in re.findall(r"(?:Depth|B) (-?[\d.e-]+)", page.locator("#readout").inner_text())
    ]
    assert values[0] - values[1] == pytest.approx(values[2], abs=2e-3)
    picture(page, "compare")
    page.get_by_role("button", name="End the comparison").click()
    expect(page.locator("#comparison")).to_have_count(0)


def place_in(page: Page, pane: int) -> tuple[float, float]:
    box = page.locator(".pane-head").nth(pane).bounding_box()
    assert box is not None
    return box["x"] + 60, box["y"] + 90


def test_a_result_is_named_pinned_deleted_and_had_back(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Rename")).first.click()
    page.keyboard.type("smooth one")
    page.keyboard.press("Enter")
    expect(page.locator(".results strong").first).to_have_text("smooth one")
    page.get_by_role("button", name=re.compile("^Pin")).first.click()
    expect(page.get_by_role("button", name=re.compile("^Pin")).first).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_role("button", name=re.compile("^Delete: smooth one")).click()
    expect(page.locator(".results li")).to_have_count(1)
    page.get_by_role("button", name="Undo", exact=True).last.click()
    expect(page.locator(".results li")).to_have_count(2)


def test_a_change_of_the_frames_makes_the_result_outdated(page: Page) -> None:
    expect(page.locator("#outdated")).to_have_count(0)
    page.locator("#strip li input").nth(1).click()
    expect(page.locator("#outdated")).to_contain_text("Outdated")
    page.keyboard.press("Control+z")
    expect(page.locator("#outdated")).to_have_count(0)


def test_near_and_far_are_said_and_exchanged_at_once(page: Page) -> None:
    one_pane(page, "depth")
    ends = page.locator(".ends > span")
    expect(ends.nth(0)).to_have_text("near")
    expect(page.locator("#near-seen")).not_to_be_empty()
    drag(page, "line", (0.3, 0.5), (0.7, 0.5))
    expect(page.locator("#measured")).to_contain_text("Length")
    page.click("#turn")
    expect(ends.nth(0)).to_have_text("far")
    expect(page.locator("#near-seen")).to_have_text("as you say")
    page.click("[data-view='3d']")
    expect(page.locator(".surface-tools")).to_contain_text("Large depths are near")
    picture(page, "turned")
    page.click("[data-view='1']")
    page.click("#turn")
    expect(ends.nth(0)).to_have_text("near")
    page.click("[data-tool=probe]")


def test_the_surface_is_made_once_however_often_it_is_asked_for(
    page: Page, browser: Browser, address: str
) -> None:
    """Asked for again while its code was on the way, it was made twice, one over the other."""
    held: list[Route] = []
    code = re.compile("/assets/surface-")
    # Another page on the same results; it may begin with the surface, if that was chosen last.
    page = opened(browser, address, lambda p: p.route(code, lambda route: held.append(route)))
    page.wait_for_selector("a[data-product='depth.tif']")
    page.click("[data-view='3d']")
    page.wait_for_selector("#surface:not([hidden])")
    for _ in range(2):
        with page.expect_response("**/api/state"):  # after which the surface is asked for again
            page.click("#turn")
    wait_until(lambda: page.wait_for_timeout(20) is None and held, "code of the surface")
    held[0].continue_()
    page.wait_for_selector("#surface-canvas")
    wait_for_colours(page, "#surface-canvas", 20)
    expect(page.locator(".surface-tools")).to_have_count(1)
    page.context.close()


def test_how_far_the_frames_moved_is_shown(page: Page) -> None:
    expect(page.locator("#motion-section")).to_contain_text(re.compile(r"At most [\d.]+ pixels"))
    expect(page.locator("#motion canvas")).to_have_count(1)


def test_what_is_unsure_is_hatched(page: Page) -> None:
    one_pane(page, "depth")
    expect(page.locator("#hatch")).to_be_checked()
    expect(page.locator("#outcome")).to_contain_text("Unsure (< 0.5)")


def test_files_of_no_use_clear_nothing(page: Page, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / "empty.png").write_bytes(b"")
    page.set_input_files("#files", sorted(tmp_path.iterdir()))
    picture(page, "ask")
    page.get_by_role("button", name="Replace").click()
    message = page.locator(".message", has_text="nothing was changed")
    expect(message).to_contain_text("notes.txt")
    expect(message).to_contain_text("empty.png is empty")
    expect(page.locator("#strip li")).to_have_count(6)
    expect(page.locator(".results li")).to_have_count(2)
    message.get_by_role("button", name="Close").click()


def test_every_tool_and_view_has_a_key(page: Page) -> None:
    page.locator("#strip strong").click()  # nothing is being typed
    for key, tool in {
        "l": "line",
        "s": "step",
        "r": "region",
        "c": "crop",
        "m": "mask",
        "p": "probe",
    }.items():
        page.keyboard.press(key)
        expect(page.locator(f"[data-tool={tool}]")).to_have_attribute("aria-pressed", "true")
    for key, view in {"d": "3d", "e": "3", "w": "wipe"}.items():
        page.keyboard.press(key)
        expect(page.locator(f"[data-view='{view}']")).to_have_attribute("aria-checked", "true")
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_contain_text("Keys")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("b")


def test_help_on_a_parameter_opens(page: Page) -> None:
    page.locator("summary", has_text="All parameters").click()
    page.locator("[data-parameter=align] .help-button").click()
    expect(page.locator("#parameter-align-help")).to_contain_text("laid onto each other")
    page.locator("summary", has_text="All parameters").click()


def axe(page: Page, where: str) -> None:
    """Look for what would keep somebody out."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (make page): accessibility was NOT tested")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    report = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    found = [
        (v["id"], [n["html"][:120] + " " + str(n.get("failureSummary"))[:200] for n in v["nodes"]])
        for v in report["violations"]
    ]
    assert found == [], where
    wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{where} is wider than the window"


def axe_at_any_size(page: Page, where: str) -> None:
    """Do so on a telephone, a tablet and a desk."""
    before = page.viewport_size or {"width": 1280, "height": 800}
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        expect(page.locator("[data-drawing]")).to_have_count(0)
        axe(page, f"{where} at {width}")
    page.set_viewport_size(before)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_state_is_for_everybody_at_any_size(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    dark = width == 900  # once is enough: colours do not depend on the size
    if dark:
        page.click("#theme")
    shown = page.evaluate("() => document.documentElement.dataset.theme")
    assert shown == ("dark" if dark else "light")

    def unfolded(side: str, panel: str) -> None:
        if page.locator(f"#fold-{side}").get_attribute("aria-expanded") == "false":
            page.click(f"#fold-{side}")
        expect(page.locator(panel)).to_be_visible()

    states: dict[str, Callable[[], object]] = {
        "maps": lambda: page.click("[data-view='2']"),
        "settings": lambda: unfolded("left", "#controls"),
        "inspector": lambda: unfolded("right", "#inspector"),
        "surface": lambda: (fold(page), page.click("[data-view='3d']")),
        "help": lambda: page.click("#help"),
        "comparison": lambda: (
            page.keyboard.press("Escape"),
            unfolded("right", "#inspector"),
            page.locator("button:enabled[aria-label^='Compare']").first.click(),
            fold(page),
            expect(page.locator("#comparison")).to_be_attached(),
        ),
        "measuring": lambda: (page.keyboard.press("a"), page.keyboard.press("l"), line(page)),
        "retouching": lambda: (
            page.keyboard.press("t"),
            unfolded("right", "#inspector"),
            expect(page.locator("#retouch-section")).to_be_visible(),
        ),
        "everything unfolded": lambda: (
            unfolded("left", "#controls"),
            unfolded("right", "#inspector"),
            page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)"),
        ),
    }
    box = page.locator("#stage").bounding_box()
    assert box is not None
    assert box["width"] >= (width if width <= 900 else 700)  # the maps have room
    for name, enter in states.items():
        enter()
        expect(page.locator("[data-drawing]")).to_have_count(0)
        axe(page, f"{name} at {width}")
        picture(page, f"{name}-{width}")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = false)")
    page.click("[data-tool=probe]")
    page.locator("#measured").get_by_role("button", name="Remove all").click()
    page.get_by_role("button", name="End the comparison").click()
    page.click("[data-view='2']")
    if dark:
        page.click("#theme")


def line(page: Page) -> None:
    """Draw a line by keys, and wait for its numbers."""
    page.locator(".overlay").focus()
    for key in ("ArrowDown", "Space", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#measured canvas")).to_be_attached()


@pytest.mark.parametrize(("width", "height"), [(720, 450), (3840, 2160)])
def test_everything_is_in_reach_at_200_percent_and_on_a_large_screen(
    page: Page, width: int, height: int
) -> None:
    """A window of 1440×900 at 200 % has 720×450 pixels."""
    page.set_viewport_size({"width": width, "height": height})
    for selector in ("#views button", "#tools button", "#export", "#fold-left", "#strip input"):
        for button in page.locator(selector).filter(visible=True).all():
            expect(button).to_be_in_viewport(ratio=0.99)
    stage = page.locator("#panes").bounding_box()
    assert stage is not None
    assert stage["height"] > 0.4 * height  # most of it is for the maps
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 800})


def fold(page: Page) -> None:
    if (page.viewport_size or {"width": 0})["width"] > 900:
        return
    for side in ("left", "right"):
        if page.locator(f"#fold-{side}").get_attribute("aria-expanded") == "true":
            page.click(f"#fold-{side}")


@pytest.mark.usefixtures("page")  # which has results
def test_two_fingers_zoom(browser: Browser, address: str) -> None:
    page = opened(browser, address, viewport={"width": 800, "height": 700}, has_touch=True)
    page.wait_for_selector("html[data-ready] #strip li")
    page.click("[data-view='2']")  # another page may have chosen another one
    expect(page.locator("#panes canvas").first).to_have_attribute("data-shown", re.compile(r"\S"))
    pinch(page)
    page.wait_for_function(
        """() => {
            const kept = sessionStorage.getItem(`varfocus-${location.port}`) ?? "{}";
            return JSON.parse(kept).place?.scale > 2;
        }"""
    )
    page.context.close()


def test_the_whole_page_speaks_german(browser: Browser, address: str) -> None:
    page = opened(browser, address, locale="de-DE")
    page.wait_for_selector("#strip li")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("#run")).to_have_text("Rekonstruieren")
    text = page.locator("body").inner_text()
    assert not re.search(r"\b(the|frames|Depth|Colours|Results|Reverse|near|far)\b", text), text
    picture(page, "german")
    page.evaluate("() => (document.querySelector('#source').textContent = 'long '.repeat(99))")
    inspector = page.locator("#inspector").bounding_box()
    assert inspector is not None
    assert inspector["x"] + inspector["width"] <= 1280  # whatever the bar has to say
    page.click("#language")
    expect(page.locator("#run")).to_have_text("Reconstruct")
    page.context.close()


def test_a_lost_server_is_said_and_the_same_tab_goes_on(browser: Browser, tmp_path: Path) -> None:
    """Killed without warning, started again: frames, results and the pixel are there."""
    frames = write_pictures(tmp_path / "shots", simulate("steps", shape=(60, 80), n=5).frames)
    with served(tmp_path / "sessions") as (address, server):
        page = opened(browser, address)
        axe_at_any_size(page, "welcome")
        page.set_input_files("#files", sorted(frames.iterdir()))
        page.wait_for_selector("#strip li")
        page.select_option("#method", "classic")
        reconstruct(page)
        page.locator(".overlay").focus()
        page.keyboard.press("Enter")
        chosen = page.locator("#facts dd").first
        expect(chosen).to_have_text(re.compile(r"\d+, \d+"))
        pixel = chosen.inner_text()
        page.click("[data-view='3']")
        (record,) = (tmp_path / "sessions").glob("*/session.json")
        wait_until(lambda: '"view": "3"' in record.read_text(), "kept choice")
        page.click("#run")  # so that something is going on
        server.kill()
        server.wait()
        expect(page.locator("#offline")).to_be_visible()
        expect(page.locator("#progress")).to_be_hidden()
        axe_at_any_size(page, "offline")
        picture(page, "offline")
    with served(tmp_path / "sessions") as (again, _):
        assert again == address  # same port, same token
        expect(page.locator("#offline")).to_be_hidden()
        expect(page.locator("#strip li")).to_have_count(5)
        finished(page)
        expect(chosen).to_have_text(pixel)
        expect(page.locator(".pane-head")).to_have_count(3)
        page.context.close()
    with served(tmp_path / "sessions") as (again, _):
        page = opened(browser, again)  # a new tab is offered the work
        row = page.locator("[data-session]")
        expect(row).to_contain_text("5 frames")
        axe_at_any_size(page, "going on")
        picture(page, "go-on")
        row.click()
        expect(page.locator("#strip li")).to_have_count(5)
        expect(page.locator(".pane-head")).to_have_count(3)
        page.context.close()


def dropped(page: Page, *paths: Path) -> None:
    """Drop files or folders onto the page."""
    hand = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        hand.send("Input.dispatchDragEvent", {"type": kind, "x": 600, "y": 300, "data": data})


def test_a_folder_is_dropped_and_too_few_frames_are_said(browser: Browser, tmp_path: Path) -> None:
    frames = simulate("steps", shape=(60, 80), n=5).frames
    folder = write_pictures(tmp_path / "my shots", frames, "shot")
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "fused.png").write_bytes((folder / "shot0.png").read_bytes())
    two = write_pictures(tmp_path / "two", frames[:2], "pair")
    with served(tmp_path / "sessions") as (address, _):
        page = opened(browser, address)
        expect(page.locator("#formats")).to_contain_text("JPEG")
        dropped(page, folder)
        expect(page.locator("#strip li")).to_have_count(6)
        expect(page.locator(".message")).to_have_count(0)
        expect(page.locator("#odd")).to_contain_text("fused.png")  # a finished picture?
        page.click("#leave-odd")
        expect(page.locator("#odd")).to_be_hidden()
        expect(page.locator("#strip .caption")).to_contain_text("5 of 6")
        page.select_option("#method", "classic")
        begin_on_a_narrow_screen(page)
        # Back to the start and on with the same work: nothing was lost.
        page.click("#home")
        expect(page.locator("#strip")).to_be_hidden()
        page.locator("[data-session]").click()
        expect(page.locator("#strip li")).to_have_count(6)
        finished(page)
        page.set_input_files("#files", sorted(two.iterdir()))
        page.get_by_role("button", name="New stack").click()
        expect(page.locator("#few")).to_contain_text("Two frames are no stack")
        expect(page.locator("#run")).to_be_disabled()
        page.context.close()


def begin_on_a_narrow_screen(page: Page) -> None:
    """Reconstruct, look and export where the panels are folded."""
    page.set_viewport_size({"width": 360, "height": 740})
    expect(page.locator("#controls")).to_be_hidden()
    expect(page.locator("#stage #progress")).to_have_count(1)  # seen although the panel is not
    axe(page, "before the first result at 360")
    picture(page, "begin-360")
    page.click("#run-here")
    page.wait_for_selector("a[data-product='depth.tif']", state="attached")
    expect(page.locator("#progress")).to_be_hidden()
    expect(page.locator("#run-here")).to_be_hidden()
    page.click("[data-view='3d']")
    expect(page.locator(".surface-tools #coat")).to_be_hidden()  # it would cover the surface
    page.click(".surface-tools summary")
    expect(page.locator(".surface-tools #coat")).to_be_visible()
    page.keyboard.press("x")
    expect(page.locator(".export-card").first).to_be_in_viewport()
    axe(page, "export at 360")
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator("#controls #progress")).to_have_count(1)


def test_several_folders_wait_in_a_queue_and_become_sessions(
    browser: Browser, tmp_path: Path
) -> None:
    frames = simulate("steps", shape=(60, 80), n=5).frames
    names = ("ant", "bee", "cicada")
    folders = [write_pictures(tmp_path / name, frames, "shot") for name in names]
    large = np.tile(simulate("steps", shape=(240, 320), n=8).frames, (1, 1, 2, 1))
    slow = write_pictures(tmp_path / "dragonfly", large, "shot")
    with served(tmp_path / "sessions") as (address, server):
        page = opened(browser, address)
        page.select_option("#method", "robust")
        dropped(page, slow)  # one is open, and its frames stay
        expect(page.locator("#strip li")).to_have_count(8)
        page.select_option("#method", "classic")
        dropped(page, *folders[:2])
        page.get_by_role("button", name="Queue 2 stacks").click()
        page.set_input_files("#folder", folders[2])  # another one, chosen
        page.get_by_role("button", name=re.compile("^Queue Recon")).click()
        expect(page.locator("[data-queued]")).to_have_count(3)
        expect(page.locator("[data-queued] strong")).to_have_text(names)
        expect(page.locator("[data-state=done]")).to_have_count(3)
        expect(page.locator("#queue-button")).to_have_attribute("aria-label", "Queue 3/3")
        expect(page.locator("#strip li")).to_have_count(8)
        axe_at_any_size(page, "queue")
        picture(page, "queue")
        page.get_by_role("button", name="Open: bee").click()
        expect(page.locator("#source")).to_contain_text("bee")
        finished(page)
        expect(page.locator(".results li")).to_have_count(1)
        # One that takes long: how far it is, cancelled, taken up again, and the server killed.
        page.select_option("#method", "robust")
        dropped(page, slow)
        page.get_by_role("button", name=re.compile("^Queue Recon")).click()
        row = page.locator("[data-queued]", has_text="dragonfly")
        expect(row.locator("progress")).to_be_visible()
        row.get_by_role("button", name="Cancel").click()
        expect(row).to_have_attribute("data-state", "cancelled")
        row.get_by_role("button", name="Earlier").click()
        expect(page.locator("[data-queued] strong").nth(2)).to_have_text("dragonfly")
        row.get_by_role("button", name="Run again").click()
        expect(row).to_have_attribute("data-state", "running")
        server.kill()
        server.wait()
        expect(page.locator("#offline")).to_be_visible()
        expect(row.locator("progress")).to_have_count(0)  # none that stands still
    with served(tmp_path / "sessions"):
        expect(page.locator("#offline")).to_be_hidden()
        expect(row).to_have_attribute("data-state", "done")
        expect(page.locator("#source")).to_contain_text("bee")  # the same tab, the same work
        row.get_by_role("button", name="Take out").click()
        expect(row).to_have_count(0)
        page.context.close()
