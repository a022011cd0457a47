"""The report: self-contained, honest about the pixels it shows, safe with any name."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import tifffile
from scipy import ndimage

import varfocus as vf
from command_line import files_below, varfocus, write_frames
from result_folders import result_of, with_maps
from varfocus import curve
from varfocus.contrast import box_mean, mlap
from varfocus.curve import coordinate, templates
from varfocus.export import report
from varfocus.export.charts import Series, chart, ticks
from varfocus.export.evidence import Place, contrast_curves, telling_places
from varfocus.params import Params, SolverParams
from varfocus.pipeline import run
from varfocus.stack import FocusStack


class Page(HTMLParser):
    """Collects elements and checks that they are nested properly."""

    VOID = ("meta", "img", "input", "br", "circle", "line", "polyline")

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.open = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def page_of(result, command="varfocus depth shots/ -o out/"):
    return result.report(result.record(command)).decode()


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """The report without the page's viewer, as where that is not built; test_page has it."""
    monkeypatch.setattr(report, "_viewer_script", lambda: "")


@pytest.fixture(scope="module")
def scene():
    return vf.simulate("cone", shape=(64, 72), n=12)


@pytest.fixture(scope="module")
def result(scene):
    stack = FocusStack.from_array(scene.frames, np.arange(12) * 2.0, "um")
    return run(stack, Params("paper", solve=SolverParams(solver="admm", iterations=20)))


# The page


def test_the_page_needs_nothing_but_itself(result):
    text = page_of(result)
    assert "http:" not in text
    assert "https:" not in text
    assert "url(" not in text
    page = Page(text)
    for image in page.all("img"):
        assert image["src"].startswith("data:")
        assert image["alt"] or image.get("id") == "over"
    for picture in page.all("svg"):
        assert picture.get("aria-label") or picture.get("aria-hidden")
    assert not page.all("link")
    assert [script for script in page.all("script") if "src" in script] == []
    policy = page.all("meta")[2]["content"]
    assert policy.startswith("default-src 'none'")
    assert "prefers-color-scheme: dark" in text


def test_the_page_tells_the_run(result):
    words = " ".join("".join(Page(page_of(result)).text).split())
    assert "12 grey frames became a depth map of 72 × 64 pixels" in words
    assert "grows from the first frame's focus to the last one's" in words
    assert "um" in words
    assert "varfocus depth shots/ -o out/" in words
    assert "alpha" in words
    assert "Convergence" in words


def test_names_cannot_break_the_page(tmp_path, capsys, scene):
    evil = "<script>alert(1)<&'"
    folder = write_frames(tmp_path / evil, scene.frames[:5])
    said = varfocus(capsys, "depth", folder, "-o", tmp_path / "out", "--method", "classic", "-q")
    assert said.code == 0
    text = (tmp_path / "out" / "report.html").read_text()
    assert "<script>alert" not in text
    assert len(Page(text).all("script")) == 1


def test_warnings_and_unknown_pixels_are_shown(result):
    depth = result.depth.copy()
    depth[:32] = np.nan
    text = page_of(replace(with_maps(result, depth=depth), warnings=("beware of <this>",)))
    assert "beware of &lt;this&gt;" in text
    assert "50.0% of the pixels are unknown" in text


@pytest.mark.parametrize("value", [np.nan, 3.0])
def test_dull_results_have_a_report_too(value):
    result = result_of(np.full((20, 30), value))
    Page(page_of(replace(result, index=np.full((20, 30), 1.0, np.float32))))


def test_transforms_are_plotted_where_a_run_recorded_them(result):
    record = result.record()
    assert "Alignment" not in result.report(record).decode()
    frames = [
        {
            "name": f"shot{k}.jpg",
            "matrix": [[1 + 0.01 * k, 0, 2 * k], [0, 1 + 0.01 * k, 0], [0, 0, 1]],
            "left_out": "it is <broken>" if k == 4 else None,
        }
        for k in range(12)
    ]
    record["alignment"] = {
        "model": "similarity",
        "reason": "breathing of 11 %",
        "input_size": {"width": 72, "height": 64},
        "reference": 6,
        "frames": frames,
    }
    text = result.report(record).decode()
    page = Page(text)
    assert "brought to shot6.jpg (map: similarity): breathing of 11 %." in text
    assert "shot4.jpg was left out: it is &lt;broken&gt;." in text
    assert sum("Focus breathing" in svg.get("aria-label", "") for svg in page.all("svg")) == 1
    record["alignment"]["model"] = "none"
    assert "<h2>Alignment" not in result.report(record).decode()


def test_two_megapixels_stay_small(rng):
    shape = (1250, 1600)
    texture = ndimage.gaussian_filter(rng.normal(size=shape), 1.5)
    fused = np.clip(128 + 150 * texture, 0, 255).astype(np.uint8)
    fused = np.stack([fused, fused, 255 - fused], axis=-1)
    depth = ndimage.gaussian_filter(rng.normal(size=shape), 3) * 5
    assert len(page_of(result_of(depth, fused=fused))) < 3e6


# In the folder


def test_the_report_can_be_left_out(tmp_path, capsys, scene):
    frames = write_frames(tmp_path / "frames", scene.frames)
    options = ("depth", frames, "-o", tmp_path / "out", "--method", "classic", "-q", "--overwrite")
    assert varfocus(capsys, *options).code == 0
    assert "report.html" in files_below(tmp_path / "out")
    assert varfocus(capsys, *options, "--no-report").code == 0
    assert "report.html" not in files_below(tmp_path / "out")


def test_frames_that_have_gone_leave_a_report_without_curves(scene, tmp_path):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, scene.frames)
    result = vf.reconstruct(vf.read_stack(path), "classic")
    assert "What the depth rests on" in page_of(result)
    path.unlink()
    assert "What the depth rests on" not in page_of(result)


# Telling pixels


def test_each_place_is_what_it_is_said_to_be():
    index = np.full((100, 120), 3.0, np.float32)
    index[:, 60:] = 9.0
    confidence = np.full(index.shape, 0.9, np.float32)
    confidence[40:50, 20:30] = 0.1
    confidence[70:80, 90:100] = 1.0
    places = {place.role: place for place in telling_places(index, confidence)}
    assert set(places) == {"sure", "typical", "doubtful", "at a depth jump"}
    assert confidence[places["sure"].y, places["sure"].x] == 1.0
    assert confidence[places["typical"].y, places["typical"].x] == np.float32(0.9)
    assert confidence[places["doubtful"].y, places["doubtful"].x] == np.float32(0.1)
    assert abs(places["at a depth jump"].x - 60) < 6


@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (7, 7)])
def test_small_maps_have_places_inside(shape):
    for place in telling_places(np.ones(shape, np.float32), np.ones(shape, np.float32)):
        assert 0 <= place.y < shape[0]
        assert 0 <= place.x < shape[1]


@pytest.mark.parametrize("at", [(30, 40), (2, 3), (69, 61)])
def test_curves_are_those_of_the_whole_frames(scene, at):
    """A piece of each frame is enough, at the border too."""
    x, y = at
    stack = FocusStack.from_array(scene.frames)
    index = np.full(stack.shape, 5.0, np.float32)
    unit = [stack.read_unit(k) for k in range(len(stack))]
    expected = {
        "paper": [mlap(image)[y, x] for image in unit],
        "classic": [box_mean(mlap(image), 9)[y, x] for image in unit],
    }
    for method, contrast in expected.items():
        (found,) = contrast_curves(stack, Params(method), index, [Place("sure", x, y)])
        np.testing.assert_allclose(found.contrast, contrast, rtol=1e-4, atol=1e-6)


def test_the_model_of_a_peak_is_at_the_chosen_depth_and_follows_it(scene):
    stack = scene.stack
    index = scene.truth_index.astype(np.float32)
    # The simulated camera's blur is symmetric in the reciprocal of the distance.
    t = np.linspace(0.0, 11.0, 45)
    peak = [t.tolist(), templates.formula(t, 3.0, 2.0).tolist()]
    findings = {"coordinate": "reciprocal", "peak": peak}
    places = [Place("sure", x, 20) for x in range(10, 60, 5)]
    found = contrast_curves(stack, Params("robust"), index, places, findings)
    likeness = []
    for witness in found:
        assert witness.model[witness.model[:, 1].argmax(), 0] == pytest.approx(
            witness.index, abs=0.1
        )
        fitted = np.interp(np.arange(12), *witness.model.T)
        likeness.append(np.corrcoef(fitted, witness.contrast)[0, 1])
    assert np.median(likeness) > 0.9


def test_the_polynomial_is_the_papers(result):
    (found,) = contrast_curves(result.stack, result.params, result.index, [Place("sure", 20, 30)])
    a = curve.fit(found.contrast[:, None, None], result.params.curve.degree)
    for k, value in found.model[::40]:
        x = np.full((1, 1), curve.index_to_x(k, 12), np.float32)
        assert value == pytest.approx(float(curve.evaluate(a, x)[0, 0]), rel=1e-4)


def test_axes_are_found_by_their_names():
    focus = np.array([1.0, 1.5, 3.0, 4.0])
    for axis in (
        coordinate.frames(4),
        coordinate.position(focus),
        coordinate.reciprocal(focus),
        coordinate.hyperbolic(4, 0.35),
        coordinate.hyperbolic(4, 0.06, mirrored=True),
    ):
        np.testing.assert_array_equal(coordinate.by_name(axis.name, 4, focus).x, axis.x)


# Charts


def test_charts_stay_inside_their_frame(rng):
    svg = chart(
        [Series(np.arange(50), 1e6 * rng.normal(size=50)), Series([0, 49], [np.nan, 3], "dots")],
        x_label="x",
        y_label="<y>",
        alt='a "chart"',
        mark=60.0,
        size=(400, 220),
    )
    Page(svg)
    points = re.search(r'points="([^"]+)"', svg).group(1).replace(",", " ").split()
    values = np.array(points, float).reshape(-1, 2)
    assert len(values) == 50
    assert (values >= 0).all()
    assert (values <= [400, 220]).all()
    assert "&lt;y&gt;" in svg


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 17.9), (1e-9, 2e-9), (0, 1e6)])
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 3 <= len(found) <= 8
    assert low <= found[0]
    assert found[-1] <= high
