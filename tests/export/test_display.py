"""How results look in a notebook: text, HTML, figures, labelled arrays."""

from __future__ import annotations

import html.parser
import re

import matplotlib as mpl
import numpy as np
import pytest

from result_folders import result_of, saved_of
from varfocus.errors import MissingExtraError, ParameterError
from varfocus.pipeline import reconstruct
from varfocus.simulation import simulate
from varfocus.stack import ArrayFrame, FocusStack

SLOPE = np.linspace(0, 2, 48, dtype=np.float32).reshape(6, 8)


@pytest.fixture(autouse=True)
def quiet_figures():
    mpl.use("agg")
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result():
    return reconstruct(simulate("cone", shape=(40, 56), n=9).stack)


def test_a_result_is_one_short_line(result):
    assert repr(result) == ("<Result: 56×40 pixels from 9 frames, depth in m, method 'robust'>")


def test_showing_a_line_computes_no_map(result):
    fresh = reconstruct(simulate("cone", shape=(40, 56), n=9).stack)
    repr(fresh)
    assert "depth" not in vars(fresh.products)


def test_a_stack_is_one_short_line():
    stack = FocusStack.from_array(np.zeros((300, 4, 5), np.uint8), np.arange(300), "um")
    assert repr(stack) == "<FocusStack: 300 frames, 5×4 grey uint8, focus from 0 to 299 um>"


def test_a_saved_result_tells_where_it_is(tmp_path):
    saved = saved_of(tmp_path / "out", SLOPE)
    assert repr(saved).startswith(f"<SavedResult in {tmp_path / 'out'}: 8×6 pixels from 3 frames")


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_the_card_has_thumbnails_and_a_table(result):
    tags = Tags()
    tags.feed(result._repr_html_())
    pictures = [about["src"] for tag, about in tags.seen if tag == "img"]
    assert len(pictures) == 3
    assert all(source.startswith("data:image/") for source in pictures)
    words = " ".join(tags.text)
    assert "56 × 40 pixels, from 9 frames" in words
    assert "standard error" in words


def test_nothing_in_the_card_can_become_a_tag():
    hostile = result_of(SLOPE, focus=[0, 1, 2], unit="mm")
    # A stack does not take such a unit, but who knows what will hold one.
    object.__setattr__(hostile.stack, "unit", '<img src=x onerror="alert(1)">')
    hostile = type(hostile)(**vars(hostile) | {"warnings": ("<script>alert(2)</script>",)})
    tags = Tags()
    tags.feed(hostile._repr_html_())
    assert {tag for tag, _ in tags.seen} <= {
        "div", "figure", "img", "figcaption", "table", "tbody", "tr", "th", "td"
    }  # fmt: skip
    assert all(about["src"].startswith("data:") for tag, about in tags.seen if tag == "img")
    assert any("<script>" in text for text in tags.text)


def test_a_map_without_any_depth_still_has_a_card():
    assert "unknown" in result_of(np.full((6, 8), np.nan))._repr_html_()


def test_plot_draws_what_there_is(result, tmp_path):
    axes = result.plot()
    assert [a.get_title() for a in axes] == ["fused", "depth", "confidence", "uncertainty"]
    drawn = axes[1].images[0].get_array()
    np.testing.assert_array_equal(drawn, result.depth)
    assert [a.get_title() for a in result_of(SLOPE).plot()] == ["fused", "depth", "confidence"]


def test_plot_refuses_what_there_is_not():
    with pytest.raises(ParameterError, match="uncertainty"):
        result_of(SLOPE).plot("uncertainty")


def test_a_curve_has_every_frame_and_the_depth_chosen(result):
    axes = result.show_curve(28, 20)
    measured, *_, chosen = axes.lines
    np.testing.assert_allclose(measured.get_xdata(), result.stack.focus)
    assert np.argmax(measured.get_ydata()) == pytest.approx(result.index[20, 28], abs=1.5)
    assert chosen.get_xdata()[0] == pytest.approx(result.depth[20, 28], rel=1e-5)


def test_a_curve_outside_of_the_picture_is_refused(result):
    with pytest.raises(ParameterError, match="x = 56"):
        result.show_curve(56, 3)


def test_the_curve_is_that_of_the_pixel():
    """A stack in which one pixel alone has structure, in one frame."""
    frames = np.full((7, 64, 64), 100, np.uint8)
    frames[4, 30, 20] = 200
    found = reconstruct(frames, "classic", window=3, align="none").curve(20, 30)
    assert found.contrast[4] > 0
    assert np.count_nonzero(found.contrast) == 1


def test_labelled_arrays_have_units_and_places():
    pytest.importorskip("xarray")
    result = result_of(
        SLOPE, focus=[0, 1, 2], unit="um", pixel_size=(0.5, 0.25, "um"), uncertainty=0.1
    )
    maps = result.to_xarray()
    assert dict(maps.sizes) == {"y": 6, "x": 8, "channel": 3}
    assert maps.depth.attrs["units"] == maps.uncertainty.attrs["units"] == "um"
    np.testing.assert_allclose(maps.x, 0.5 * (np.arange(8) + 0.5))
    np.testing.assert_allclose(maps.y, 0.25 * (np.arange(6) + 0.5))
    assert float(maps.depth.sel(x=1.75, y=0.375)) == SLOPE[1, 3]


def test_a_crop_keeps_its_place():
    pytest.importorskip("xarray")
    frames = simulate("cone", shape=(64, 64), n=5).frames
    maps = reconstruct(frames, "classic", crop="10,20,30,16", align="none").to_xarray()
    assert (float(maps.x[0]), float(maps.y[0])) == (10.5, 20.5)
    assert maps.x.attrs["units"] == "pixel"


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(MissingExtraError, match=re.escape("varfocus[xarray]")):
        result_of(SLOPE).to_xarray()


def test_names_of_frames_are_not_in_the_line():
    frames = [ArrayFrame("secret" * 100, np.zeros((4, 5), np.uint8)) for _ in range(3)]
    assert "secret" not in repr(FocusStack(frames))
