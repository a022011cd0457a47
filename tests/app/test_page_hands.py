"""Retouching, slabs, measuring, the surface and export, as a person does them in a browser."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image
from playwright.sync_api import Locator, Page, Route, expect, sync_playwright

from command_line import write_pictures
from page_browser import (
    NEEDS_BROWSER,
    PATIENCE,
    complaint,
    finished,
    launched,
    picture,
    pinch,
    reconstruct,
    steady,
    wait_for_colours,
)
from processes import page_served, wait_until
from varfocus.simulation import simulate

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frames = simulate("steps", shape=(120, 160), n=6).frames
    return write_pictures(tmp_path_factory.mktemp("stack") / "chip", frames, "img")


@pytest.fixture(scope="module")
def page(shots: Path) -> Iterator[Page]:
    """A calibrated stack, reconstructed; whatever the page complains about fails the test."""
    size = ["--z-step", "5um", "--pixel-size", "2um"]
    with sync_playwright() as playwright, page_served(shots, *size) as address:
        browser = launched(playwright, "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
        page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
        page.set_default_timeout(PATIENCE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(complaint(m)) if m.type == "error" else None)
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_selector("#strip li")
        expect(page.locator("#progress")).to_be_hidden()
        page.select_option("#method", "classic")
        reconstruct(page)
        yield page
        assert [c for c in complaints if c] == []
        browser.close()


def place(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return where on the screen a pixel of the frames is, in the first pane."""
    heads = page.locator(".pane-head")
    box = page.locator(".overlay").bounding_box()
    assert box is not None
    width, height = box["width"], box["height"]
    if heads.count() == 2:
        (left, top), (right, bottom) = (
            (b["x"], b["y"]) for b in (heads.nth(k).bounding_box() for k in (0, 1)) if b
        )
        width = right - left - 6 if right > left + 50 else width
        height = bottom - top - 6 if bottom > top + 50 else height
    scale = min(width / 160, height / 120)
    return (
        box["x"] + width / 2 + (x - 80) * scale,
        box["y"] + height / 2 + (y - 60) * scale,
    )


def draw(page: Page, *points: tuple[float, float]) -> None:
    """Draw through pixels of the frames."""
    page.mouse.move(*place(page, *points[0]))
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*place(page, *point), steps=5)
    page.mouse.up()


def shown(page: Page, pattern: str) -> None:
    """Wait until the panes have drawn what a pattern describes."""
    canvas = page.locator("#panes canvas").first
    expect(canvas).to_have_attribute("data-shown", re.compile(pattern))


def tile(page: Page, name: str) -> np.ndarray:
    """Return a map of the newest result as the page's server has it."""
    state = page.request.get(page.url.rstrip("/") + "/api/state").json()
    version = state["results"][-1]["version"]
    body = page.request.get(f"{page.url.rstrip('/')}/api/results/{version}/{name}/full/0/0/0")
    values = np.frombuffer(body.body(), np.uint8 if name == "fused" else np.float32)
    return values.reshape(120, 160, -1)


def download(page: Page, link: Locator | str) -> tuple[str, bytes]:
    """Return name and content of what a click downloads."""
    with page.expect_download() as waiting:
        page.click(link) if isinstance(link, str) else link.click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


# Retouching


def test_a_frame_is_painted_in_with_its_picture_beside_taken_back_and_repeated(
    page: Page, shots: Path
) -> None:
    page.click("[data-tool=retouch]")
    page.locator("#strip li button").last.click()
    shown(page, r"^\d+/fused/full \d+/frame/\d+$")  # the source beside the result
    plain = tile(page, "fused")
    page.locator(".overlay").focus()
    size = page.locator("#brush-radius")
    before = str(size.get_attribute("aria-valuetext"))
    page.keyboard.press("]")
    expect(size).not_to_have_attribute("aria-valuetext", before)
    page.keyboard.press("[")
    soft = page.locator("#brush-softness")
    expect(soft).to_have_attribute("aria-valuetext", "50 %")
    for _ in range(5):
        page.keyboard.press("Shift+[")
    expect(soft).to_have_attribute("aria-valuetext", "0 %")
    draw(page, (60, 40), (100, 70))
    shown(page, r"^\d+/fused/full@1 \d+/frame/\d+$")
    expect(page.locator("#stroke-count")).to_have_text("1 stroke")
    painted = tile(page, "fused")[..., :3]
    with Image.open(shots / "img5.png") as image:
        last = np.asarray(image)
    np.testing.assert_array_equal(painted[50:60, 75:85], last[50:60, 75:85])
    np.testing.assert_array_equal(painted[100:], plain[100:, :, :3])
    picture(page, "retouch")
    page.keyboard.press("Control+z")
    shown(page, r"^\d+/fused/full@2 ")
    np.testing.assert_array_equal(tile(page, "fused"), plain)
    page.keyboard.press("Control+y")
    shown(page, r"^\d+/fused/full@3 ")
    np.testing.assert_array_equal(tile(page, "fused")[..., :3], painted)
    finished(page)
    expect(page.locator("#command")).to_contain_text("--retouch strokes.json")


def test_depth_is_filled_set_smoothed_and_erased(page: Page) -> None:
    page.click("[data-tool=retouch]")
    page.click("[data-stroke=fill-depth]")
    shown(page, r"^\d+/depth/full(@\d+)? \d+/fused/")
    expect(page.locator("[data-outline=true]")).to_have_attribute("aria-checked", "true")
    count = page.locator("#stroke-count")
    already = int(count.inner_text().split()[0])
    draw(page, (20, 20), (50, 20), (50, 50), (20, 50))
    expect(count).to_have_text(f"{already + 1} strokes")
    page.click("[data-stroke=erase-depth]")
    page.click("[data-outline=false]")
    draw(page, (120, 90), (121, 90))
    wait_until(lambda: np.isnan(tile(page, "depth")[90, 120, 0]), "erased depth")
    page.click("[data-stroke=set-depth]")
    page.locator("#strip li button").nth(2).click()
    draw(page, (120, 90), (121, 90))
    wait_until(lambda: tile(page, "depth")[90, 120, 0] == 10.0, "depth of the third frame")
    page.click("[data-stroke=smooth-depth]")
    expect(page.locator("#brush-sigma")).to_be_visible()
    draw(page, (30, 100), (60, 100))
    expect(count).to_have_text(f"{already + 4} strokes")
    picture(page, "retouch-depth")
    page.click("#clear-strokes")
    expect(count).to_have_text("0 strokes")
    page.locator(".message .undo").last.click()
    expect(count).to_have_text(f"{already + 4} strokes")
    page.click("#clear-strokes")
    expect(count).to_have_text("0 strokes")
    finished(page)
    page.click("[data-stroke=paint]")
    shown(page, r"^\d+/fused/\S+ \d+/frame/\d+$")
    page.reload()  # how the maps were shown before is known nevertheless
    page.wait_for_selector("html[data-ready=yes]")
    shown(page, r"^\d+/fused/\S+ \d+/frame/\d+$")
    page.click("[data-tool=probe]")
    expect(page.locator("#retouch-section")).to_be_hidden()
    shown(page, r"^\d+/fused/\S+ \d+/depth/\S+$")


def test_a_stroke_on_its_way_is_not_lost_to_an_older_state(page: Page) -> None:
    page.click("[data-tool=retouch]")
    page.click("[data-stroke=erase-depth]")
    page.click("[data-outline=false]")
    count = page.locator("#stroke-count")
    more = re.compile(rf"^{int(count.inner_text().split()[0]) + 1} strokes?$")
    held: list[Route] = []
    page.route("**/retouch", lambda route: held.append(route))
    draw(page, (120, 90), (121, 90))
    wait_until(lambda: page.wait_for_timeout(20) is None and held, "stroke on its way")
    name = page.locator(".results strong").first
    before = name.inner_text()
    site = page.url.rstrip("/")
    version = page.request.get(f"{site}/api/state").json()["results"][-1]["version"]
    for words in ("renamed elsewhere", before):  # after which the page asks for the state
        page.request.post(
            f"{site}/api/results/{version}", data={"name": words}, headers={"origin": site}
        )
        expect(name).to_have_text(words)
        expect(count).to_have_text(more)
    held[0].continue_()
    page.unroute("**/retouch")
    wait_until(lambda: np.isnan(tile(page, "depth")[90, 120, 0]), "erased depth")
    page.click("#clear-strokes")
    expect(count).to_have_text("0 strokes")
    finished(page)
    page.click("[data-stroke=paint]")
    page.click("[data-tool=probe]")


def test_slabs_are_made_and_painted_from(page: Page) -> None:
    page.click("[data-tool=retouch]")
    page.click("#slabs summary")
    page.fill("#slab-size", "3")
    page.fill("#slab-overlap", "0")
    page.click("#make-slabs")
    expect(page.locator("#paint-source option")).to_have_count(3)
    page.select_option("#paint-source", "slab 1")
    shown(page, r"^\d+/fused/\S+ \d+/slab-1/\d+$")
    wait_for_colours(page, "#panes canvas:not(.overlay)", 500)
    before = tile(page, "fused")
    draw(page, (40, 60), (120, 60))
    wait_until(lambda: (tile(page, "fused") != before).any(), "paint from the slab")
    picture(page, "slabs")
    page.click("#clear-strokes")
    page.select_option("#paint-source", "frame")
    page.click("[data-tool=probe]")
    finished(page)


def test_two_fingers_zoom_and_paint_nothing(page: Page) -> None:
    finished(page)
    page.click("[data-tool=retouch]")
    expect(page.locator("#stroke-count")).to_have_text("0 strokes")
    pinch(page)
    page.wait_for_function(
        "() => JSON.parse(sessionStorage.getItem(`varfocus-${location.port}`)).place?.scale > 2"
    )
    expect(page.locator("#stroke-count")).to_have_text("0 strokes")
    page.get_by_role("button", name="Fit").click()
    page.click("[data-tool=probe]")


# Without a pointer


def test_lines_outlines_and_strokes_are_drawn_by_keys_alone(page: Page, shots: Path) -> None:
    finished(page)
    maps, voice = page.locator(".overlay"), page.locator("#pen-voice")

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)

    maps.focus()
    press("a", "l")
    expect(page.locator("#readout")).to_contain_text("Draw a line")
    press("ArrowDown")  # shows the cursor, in the middle
    expect(voice).to_contain_text("80, 60")
    press("Space")
    expect(voice).to_contain_text("Begun at 80, 60")
    press(*["Shift+ArrowRight"] * 8, "Enter")
    expect(voice).to_have_text("Finished at 88, 60.")
    line = page.locator("[data-shape='Line 1']")
    expect(line.locator("td").first).to_have_text(re.compile("^16 "))  # pixels of 2 µm
    maps.focus()
    press("Space", "ArrowUp", "Escape")
    expect(voice).to_contain_text("nothing was drawn")
    expect(page.locator(".shape")).to_have_count(1)
    page.get_by_role("button", name="Remove Line 1").click()
    expect(page.locator(".shape")).to_have_count(0)
    # Strokes go through the points.
    maps.focus()
    press("t")
    expect(page.locator("#retouch-section h2")).to_be_in_viewport()
    page.locator("#strip li button").last.click()
    plain = tile(page, "fused")
    maps.focus()
    press("ArrowDown", "Space", *["Shift+ArrowRight"] * 6, "Enter")
    expect(page.locator("#stroke-count")).to_have_text("1 stroke")
    wait_until(lambda: (tile(page, "fused") != plain).any(), "a stroke by keys")
    with Image.open(shots / "img5.png") as image:
        last = np.asarray(image)
    np.testing.assert_array_equal(tile(page, "fused")[60, 80:86, :3], last[60, 80:86])
    picture(page, "keys")
    page.click("#clear-strokes")
    expect(page.locator("#stroke-count")).to_have_text("0 strokes")
    # An outline has corners, the last of which can be taken back.
    maps.focus()
    press("m", "ArrowDown", "Space", *["ArrowRight"] * 3, "Space", *["ArrowDown"] * 3, "Space")
    expect(voice).to_contain_text("Point 3 at")
    press("Backspace", *["ArrowDown"] * 2, "Enter")
    outline = page.locator("#area").get_by_text("1 outline")
    expect(outline).to_be_visible()
    address = page.url.rstrip("/") + "/api/state"
    mask = wait_until(lambda: page.request.get(address).json()["mask"], "the mask")
    ((_, corners),) = mask["outlines"]
    assert len(corners) == 3
    assert corners[0][0] < corners[1][0] == corners[2][0]
    page.get_by_role("button", name="Remove the mask").click()
    expect(outline).to_have_count(0)
    assert page.locator(".message .undo").count() <= 1  # the maps are not hidden under offers

    def settled() -> bool:
        state = page.request.get(address).json()
        return state["busy"] is None and state["results"][-1]["saved"] and not state["mask"]

    wait_until(settled, "a result without the mask")
    press("p")
    page.click("[data-view='2']")


# Measuring


def rows(item: Locator) -> dict[str, str]:
    cells = item.locator("tr").all()
    return {row.locator("th").inner_text(): row.locator("td").inner_text() for row in cells}


def test_measurements_have_names_handles_and_stay(page: Page) -> None:
    page.click("[data-view='1']")
    page.select_option(".pane-map", "depth")
    page.click("[data-tool=line]")
    draw(page, (20, 60), (140, 60))
    line = page.locator("[data-shape='Line 1']")
    expect(line.locator("canvas")).to_be_in_viewport(ratio=0.99)
    assert float(rows(line)["Length"].split()[0]) == pytest.approx(240, rel=0.03)
    page.click("[data-tool=step]")
    draw(page, (20, 20), (40, 40))
    expect(page.locator("#measure-hint")).to_contain_text("second rectangle")
    draw(page, (120, 20), (140, 40))
    step = page.locator("[data-shape='Step 1']")
    expect(step.locator("summary")).to_contain_text("µm")
    page.click("[data-tool=region]")
    draw(page, (20, 80), (60, 110))
    page.click("[data-tool=point]")
    page.mouse.click(*place(page, 80, 60))
    expect(page.locator(".shape")).to_have_count(4)
    # They stay with another tool, and a handle moves the end of the line.
    page.click("[data-tool=probe]")
    expect(page.locator(".shape")).to_have_count(4)
    line.locator("summary").click()
    page.click("[data-tool=line]")
    draw(page, (140, 60), (80, 60))
    expect(page.locator(".shape")).to_have_count(4)
    line.locator("summary").click()
    expect(line.locator("td").first).to_have_text(re.compile(r"^1[12]\d"))
    line.locator("input").fill("ridge")
    line.locator("input").press("Enter")
    expect(page.locator("[data-shape='ridge']")).to_be_visible()
    picture(page, "measure")


def test_the_surface_is_levelled_and_the_table_is_taken_along(page: Page) -> None:
    point = page.locator("[data-shape='Point 1']")
    before = point.locator("summary").inner_text()
    for level in ("1", "2", "points"):
        page.select_option("#level", level)
        expect(point.locator("summary")).not_to_have_text(before)
        expect(point.locator("summary")).to_contain_text("Height")
        before = point.locator("summary").inner_text()
    page.click("[data-tool=point]")
    moved = place(page, 24, 18), place(page, 30, 30)
    page.mouse.move(*moved[0])
    page.mouse.down()
    page.mouse.move(*moved[1], steps=3)
    page.mouse.up()
    expect(page.locator(".shape")).to_have_count(4)  # a triangle was moved, no point made
    expect(point.locator("summary")).not_to_have_text(before)
    picture(page, "level")
    name, content = download(page, "#measured a[data-product='measurements.csv']")
    assert name == "chip-measurements.csv"
    table = list(csv.DictReader(io.StringIO(content.decode())))
    assert {row["name"] for row in table} == {"ridge", "Step 1", "Region 1", "Point 1"}
    assert {row["quantity"] for row in table if row["name"] == "Region 1"} >= {"Sa", "Sq", "Sz"}
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    expect(page.locator(".shape")).to_have_count(4)
    page.click("[data-tool=probe]")


# The surface


def ink(page: Page) -> int:
    """Return how many pixels of the numbers above the surface are drawn."""
    script = """() => {
        const canvas = document.querySelector(".surface-overlay");
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return data.filter((value, k) => k % 4 === 3 && value > 0).length;
    }"""
    return int(page.evaluate(script))


def test_the_surface_has_axes_sides_colours_contours_and_a_picture_to_keep(page: Page) -> None:
    page.click("[data-view='3d']")
    page.wait_for_selector("#surface-canvas")
    wait_for_colours(page, "#surface-canvas", 200)
    seen = {steady(page, "#surface-canvas")}
    wait_until(lambda: ink(page) > 500, "numbers on the axes")
    picture(page, "surface-axes")
    for side in ("top", "bottom", "south", "north", "west", "east"):
        page.click(f"button[data-from={side}]")
        expect(page.locator("#surface")).to_have_attribute("data-side", side)
        expect(page.locator("#parallel")).to_be_checked()
        seen.add(steady(page, "#surface-canvas"))
    assert len(seen) == 7
    page.click("button[data-from=top]")
    plain = steady(page, "#surface-canvas")
    page.select_option("#coat", "height")
    coloured = steady(page, "#surface-canvas")
    page.check("#contours")
    lined = steady(page, "#surface-canvas")
    page.check("#follows")
    lit = steady(page, "#surface-canvas")
    assert len({plain, coloured, lined, lit}) == 4
    picture(page, "surface-contours")
    name, content = download(page, "#save-view")
    assert name == "chip-view.png"
    with Image.open(io.BytesIO(content)) as image:
        assert len(image.convert("RGB").getcolors(10**7) or []) > 100
    page.uncheck("#axes")
    wait_until(lambda: ink(page) == 0, "no numbers")
    page.click("[data-view='2']")


# Export


def test_each_decision_gives_its_file_named_after_the_stack(page: Page, tmp_path: Path) -> None:
    finished(page)
    page.click("#export")
    expect(page.locator(".export-card").first).to_be_in_viewport()
    page.select_option("#picture-format", "jpg")
    sizes = []
    for quality in ("10", "95"):
        page.fill("#jpeg-quality", quality)
        name, content = download(page, ".export-card a[data-product='picture.jpg']")
        assert name == "chip-picture.jpg"
        sizes.append(len(content))
    assert sizes[0] < sizes[1]
    page.fill("#print-size", "64")
    page.fill("#print-base", "3")
    name, content = download(page, "a[data-product='print.stl']")
    assert name == "chip-print.stl"
    (tmp_path / name).write_bytes(content)
    body = trimesh.load(tmp_path / name)
    assert body.is_watertight
    assert max(body.extents[:2]) == pytest.approx(64, rel=0.02)
    name, content = download(page, "a[data-product='everything.zip']")
    assert name == "chip-everything.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {"depth.tif", "run.json", "model.glb"} <= set(archive.namelist())
        assert json.loads(archive.read("run.json"))["retouch"] is None
    expect(page.locator("a[data-product='depth.pfm']")).to_be_hidden()  # under “more”
    page.click("#more-files summary")
    expect(page.locator("a[data-product='depth.pfm']")).to_be_visible()
    picture(page, "export")
