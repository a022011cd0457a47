"""The page in a real browser: what a person does with it, from the example to the download.

Needs Chromium (Debian's package) and the built page (`make page`). Screenshots go to the folder
that VARFOCUS_SCREENSHOTS names, if any.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, Playwright, expect

from command_line import write_pictures
from page_browser import (
    NEEDS_BROWSER,
    PATIENCE,
    complaint,
    drag,
    finished,
    image_place,
    launched,
    newest_link,
    one_pane,
    picture,
    reconstruct,
    steady,
    wait_for_colours,
    wait_for_maps,
)
from processes import page_served, wait_until
from varfocus.simulation import simulate

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with page_served() as address:
        yield address


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page with the example open; whatever it complains about fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda m: complaints.append(complaint(m)) if m.type == "error" else None)
    page.on(
        "request",
        lambda r: (
            complaints.append(r.url)
            if not r.url.startswith((address.partition("?")[0], "blob:", "data:"))
            else None
        ),
    )
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    picture(page, "welcome")
    page.click("#try")
    page.wait_for_selector("#strip li")
    expect(page.locator("#progress")).to_be_hidden()
    page.select_option("#method", "classic")
    reconstruct(page)
    yield page
    assert [c for c in complaints if c] == []
    context.close()


def test_maps_are_shown(page: Page) -> None:
    page.click("[data-view='2']")
    wait_for_maps(page, "fused", "depth")
    wait_for_colours(page, "#panes canvas:not(.overlay)", 500)
    picture(page, "two")
    expect(page.locator("#outcome")).to_contain_text("frames")


def test_a_click_shows_the_curve_of_the_pixel(page: Page) -> None:
    one_pane(page, "depth")
    page.mouse.click(*image_place(page, 0.5, 0.5))
    page.wait_for_selector("#curve canvas")
    expect(page.locator("#facts")).to_contain_text("Confidence")
    wait_for_colours(page, "#curve canvas", 3)
    expect(page.locator("#curve")).to_be_in_viewport(ratio=0.99)
    picture(page, "curve")


def test_the_value_under_the_cursor_has_its_unit(page: Page) -> None:
    one_pane(page, "depth")
    page.mouse.move(*image_place(page, 0.4, 0.6))
    expect(page.locator("#readout")).to_have_text(re.compile(r"\d+, \d+ .* Depth [\d.]+ frames"))


def test_the_slider_changes_the_depth(page: Page) -> None:
    def depth_after(key: str) -> bytes:
        old = newest_link(page)
        page.locator("#knob").focus()
        for _ in range(4):
            page.keyboard.press(key)
        finished(page, old)
        return page.request.get(page.url.rstrip("/") + newest_link(page)).body()

    assert depth_after("ArrowRight") != depth_after("ArrowLeft")


def test_a_line_gives_a_profile(page: Page) -> None:
    one_pane(page, "depth")
    drag(page, "line", (0.35, 0.5), (0.6, 0.55))
    expect(page.locator("#measured")).to_contain_text("Length")
    page.wait_for_selector("#measured canvas")
    picture(page, "profile")


def test_two_rectangles_give_a_step_and_one_its_roughness(page: Page) -> None:
    one_pane(page, "depth")
    for left in (0.35, 0.6):
        drag(page, "step", (left, 0.4), (left + 0.06, 0.5))
    expect(page.locator("#measured")).to_contain_text("Step: Height")
    drag(page, "region", (0.4, 0.4), (0.5, 0.6))
    expect(page.locator("#measured")).to_contain_text("Sq")
    page.click("[data-tool=probe]")


def test_the_surface_turns(page: Page) -> None:
    page.click("[data-view='3d']")
    page.wait_for_selector("#surface-canvas")
    wait_for_colours(page, "#surface-canvas", 300)
    before = steady(page, "#surface-canvas")
    box = page.locator("#surface-canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 400, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 230, steps=4)
    page.mouse.up()
    assert steady(page, "#surface-canvas") != before
    picture(page, "surface")
    page.click("[data-view='2']")


def test_products_are_downloaded_and_open(page: Page, tmp_path: Path) -> None:
    import tifffile

    trimesh = pytest.importorskip("trimesh")
    for name in ("depth.tif", "model.glb"):
        with page.expect_download() as download:
            page.click(f"a[data-product='{name}']")
        download.value.save_as(tmp_path / name)
    depth = tifffile.imread(tmp_path / "depth.tif")
    assert depth.shape == (384, 512)
    assert np.isfinite(depth).all()
    mesh = trimesh.load(tmp_path / "model.glb", force="mesh")
    assert len(mesh.faces) > 10_000
    expect(page.locator("#command")).to_contain_text("varfocus depth")


def test_a_wipe_shows_both_sides(page: Page) -> None:
    page.click("[data-view='wipe']")
    expect(page.locator(".pane-head")).to_have_count(2)
    wait_for_maps(page, "*", "*")
    wait_for_colours(page, "#panes canvas:not(.overlay)", 500)
    picture(page, "wipe")
    page.click("[data-view='2']")


def test_frames_are_left_out_and_reversed(page: Page) -> None:
    names = page.locator("#strip li").evaluate_all("all => all.map(item => item.dataset.name)")
    page.click("#reverse")
    expect(page.locator("#strip li").first).to_have_attribute("data-name", names[-1])
    page.click("#reverse")
    expect(page.locator("#strip li").first).to_have_attribute("data-name", names[0])
    page.locator("#strip li input").nth(3).click()
    expect(page.locator("#strip li").nth(3)).to_have_class(re.compile("left-out"))
    expect(page.locator("#strip .caption")).to_contain_text("14 of 15")
    page.locator("#strip li input").nth(3).click()
    expect(page.locator("#strip .caption")).not_to_contain_text("of 15")


def test_keys_choose_a_pixel(page: Page) -> None:
    one_pane(page, "depth")
    page.locator(".overlay").focus()
    page.keyboard.press("Enter")
    chosen = page.locator("#facts dd").first
    expect(chosen).to_have_text(re.compile(r"\d+, \d+"))
    x, y = map(int, chosen.inner_text().split(", "))
    page.keyboard.press("Shift+ArrowRight")
    expect(chosen).to_have_text(f"{x + 1}, {y}")
    page.keyboard.press("Shift+ArrowUp")
    expect(chosen).to_have_text(f"{x + 1}, {y - 1}")
    page.locator("[data-view='1']").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".pane-head")).to_have_count(2)


def test_a_rectangle_is_drawn_and_survives_a_reload(page: Page) -> None:
    one_pane(page, "depth")
    drag(page, "crop", (0.4, 0.4), (0.6, 0.6))
    expect(page.locator("#crop")).not_to_have_value("")
    crop = page.locator("#crop").input_value()
    left, top, width, height = map(int, crop.split(","))
    assert 0 < left < left + width < 512
    assert 0 < top < top + height < 384
    expect(page.locator("#outcome")).to_contain_text(f"{width} × {height} at {left}, {top}")
    finished(page)
    expect(page.locator("#command")).to_contain_text(f"--crop {crop}")
    page.click("[data-tool=probe]")
    wait_for_maps(page, "depth")
    picture(page, "crop")
    page.mouse.move(*image_place(page, 0.5, 0.5))
    expect(page.locator("#readout")).to_have_text(re.compile(r"^\d+, \d+ .* Depth [\d.]+"))
    words = page.locator("#readout").inner_text()
    x, y = (int(number) for number in re.findall(r"\d+", words)[:2])
    assert left <= x < left + width
    assert top <= y < top + height
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    expect(page.locator("#crop")).to_have_value(crop)
    finished(page)


def test_a_mask_is_drawn_and_both_are_taken_back(page: Page) -> None:
    page.click("[data-tool=mask]")
    for k in range(25):
        turn = 2 * np.pi * k / 24
        place = image_place(page, 0.5 + 0.08 * np.cos(turn), 0.5 + 0.1 * np.sin(turn))
        page.mouse.move(*place)
        if k == 0:
            page.mouse.down()
    page.mouse.up()
    expect(page.locator("#area")).to_contain_text("1 outline")
    page.wait_for_selector("a[data-product='mask.png']", state="attached")
    finished(page)
    expect(page.locator("#command")).to_contain_text("--mask mask.png")
    picture(page, "mask")
    page.get_by_role("button", name="Remove the mask").click()
    expect(page.locator("#area")).to_contain_text("everything")
    page.locator("#crop").fill("")
    page.keyboard.press("Enter")
    expect(page.locator("#outcome")).not_to_contain_text(" at ")
    finished(page)
    page.click("[data-tool=probe]")
    expect(page.locator("#command")).not_to_contain_text("--mask")
    expect(page.locator("#command")).not_to_contain_text("--crop")


def test_a_run_is_cancelled(page: Page) -> None:
    page.select_option("#method", "robust")
    page.wait_for_selector("#cancel")
    page.click("#cancel")
    expect(page.locator("#progress")).to_be_hidden()
    before = newest_link(page)
    page.select_option("#method", "classic")
    finished(page, before)


def test_the_work_survives_a_reload(page: Page) -> None:
    page.click("[data-view='3']")
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    page.wait_for_selector("a[data-product='depth.tif']")
    expect(page.locator(".pane-head")).to_have_count(3)
    expect(page.locator("#method")).to_have_value("classic")
    wait_for_maps(page, "*", "*", "*")
    wait_for_colours(page, "#panes canvas:not(.overlay)", 500)


def test_dark_is_readable(page: Page) -> None:
    page.click("#theme")
    theme = page.evaluate("() => document.documentElement.dataset.theme")
    page.set_viewport_size({"width": 1920, "height": 1080})

    def brightness(element: str, what: str) -> float:
        colour = page.evaluate(f"() => getComputedStyle(document.{element}).{what}")
        return sum(int(v) for v in re.findall(r"\d+", colour)[:3]) / 3

    def difference() -> float:
        ground = brightness("documentElement", "backgroundColor")
        return abs(brightness("body", "color") - ground)

    wait_until(lambda: difference() > 120, "contrast of text and ground")
    picture(page, f"{theme}-1920")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.click("#theme")


def test_uploads_and_a_broken_file_among_them(page: Page, tmp_path: Path) -> None:
    write_pictures(tmp_path, simulate("steps", shape=(60, 80), n=5).frames, "shot")
    (tmp_path / "shot9.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    page.set_input_files("#files", sorted(tmp_path.iterdir()))
    page.get_by_role("button", name="New stack").click()
    expect(page.locator(".message", has_text="left out")).to_contain_text("shot9.png")
    expect(page.locator("#strip li")).to_have_count(6)
    expect(page.locator("#strip li.broken")).to_have_attribute("data-name", "shot9.png")
    picture(page, "broken")
    page.locator(".message button").first.click()
    reconstruct(page)
    expect(page.locator("#outcome")).to_contain_text("80 × 60")


def test_the_report_has_the_viewer_in_itself(browser: Browser, tmp_path: Path) -> None:
    from varfocus import reconstruct

    scene = simulate("steps", shape=(60, 80), n=5)
    reconstruct(scene.stack, "classic").save(tmp_path / "result")
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: complaints.append(r.url) if r.url.startswith("http") else None)
    page.goto((tmp_path / "result" / "report.html").as_uri())
    page.wait_for_selector("#viewer canvas")
    wait_for_colours(page, "#viewer canvas", 50)
    page.get_by_role("button", name="3-D").click()
    page.wait_for_selector("#surface-canvas")
    wait_for_colours(page, "#surface-canvas", 50)
    assert complaints == []
    page.close()


def pane_pixels(page: Page, pane: int) -> np.ndarray:
    """Return what a pane of two shows of the image, pixel by pixel."""
    head = page.locator(".pane-head").nth(pane).bounding_box()
    other = page.locator(".pane-head").nth(1 - pane).bounding_box()
    box = page.locator(".overlay").bounding_box()
    assert head is not None
    assert other is not None
    assert box is not None
    rows = head["x"] == other["x"]
    gap = 6
    width = box["width"] if rows else (box["width"] - gap) / 2
    height = (box["height"] - gap) / 2 if rows else box["height"]
    x, y = head["x"] - 8, head["y"] - 8
    page.evaluate("() => document.querySelectorAll('.pane-head').forEach(h => h.remove())")
    shot = page.screenshot(clip={"x": x, "y": y, "width": width, "height": height})
    return np.asarray(Image.open(io.BytesIO(shot)).convert("L"), np.float32)


def test_frames_and_aligned_maps_register_in_linked_panes(browser: Browser, tmp_path: Path) -> None:
    """Sharp frames that only move: aligned and fused they are the reference, pixel by pixel."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 255, (30, 36), np.uint8)
    scene = np.kron(coarse, np.ones((8, 8), np.uint8))
    shifts = [(-9, 5), (7, -8), (0, 0), (8, 9), (-6, -7)]
    moved = [np.roll(scene, shift, (0, 1))[12:-12, 12:-12] for shift in shifts]
    shots = write_pictures(tmp_path / "shots", moved)
    with page_served(shots) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_selector("#strip li")
        page.select_option("#method", "classic")
        page.click("summary")
        page.select_option("#parameter-align", "shift")
        reconstruct(page)
        expect(page.locator("#outcome")).to_contain_text(" at ")
        page.select_option(".pane-map >> nth=0", "frame")
        page.select_option(".pane-map >> nth=1", "fused")
        wait_for_maps(page, "frame", "fused")
        steady(page, "#panes")
        picture(page, "registered")
        first = pane_pixels(page, 0)
        page.reload()
        page.wait_for_selector("html[data-ready=yes]")
        finished(page)
        wait_for_maps(page, "frame", "fused")
        steady(page, "#panes")
        second = pane_pixels(page, 1)
        page.close()
    assert first.shape == second.shape
    # Fitted to the common area: away from the edges of the pane both show the same pixels.
    middle = np.s_[
        first.shape[0] // 4 : -first.shape[0] // 4, first.shape[1] // 4 : -first.shape[1] // 4
    ]
    here, there = first[middle], second[middle]
    assert here.std() > 30
    assert np.abs(here - there).mean() < 2
    assert np.abs(here[:, 2:] - there[:, :-2]).mean() > 5  # and two screen pixels would be seen


def test_without_webgl_there_are_plain_pictures(
    playwright: Playwright, address: str, tmp_path: Path
) -> None:
    write_pictures(tmp_path, simulate("steps", shape=(60, 80), n=5).frames, "shot")
    with closing(launched(playwright, "--disable-3d-apis")) as plain:
        page = plain.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        expect(page.locator(".message")).to_contain_text("WebGL2")
        page.set_input_files("#files", sorted(tmp_path.iterdir()))
        page.get_by_role("button", name="New stack").click()
        expect(page.locator("#source")).to_contain_text("5 frames")
        page.select_option("#method", "classic")
        reconstruct(page)
        drawn = page.locator(".plain img").first
        drawn.wait_for()
        assert drawn.evaluate("async (image) => (await image.decode(), image.naturalWidth)") > 50
        picture(page, "plain")
