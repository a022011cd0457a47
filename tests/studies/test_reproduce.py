"""The experiments of the paper: numbers that must come out, and a report that can be read."""

import csv
import io
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from command_line import files_below
from varfocus.cli.simulate import read_texture
from varfocus.contrast import mlap
from varfocus.depth import index_to_depth
from varfocus.params import Params
from varfocus.pipeline import estimate
from varfocus.simulation import simulate
from varfocus.studies.comparison import compare, default_tv_weights, fraction
from varfocus.studies.metrics import rmse
from varfocus.studies.reproduce import EXPERIMENTS, Report, Setting, report
from varfocus.studies.reproduce.certificate import certify, crop
from varfocus.studies.reproduce.convergence import Bound, problem, run_race, theorem
from varfocus.studies.reproduce.curves import MARGIN, telling_pixels
from varfocus.studies.reproduce.regularisers import choices, measure
from varfocus.studies.reproduce.report import Figure, Table, Text
from varfocus.studies.reproduce.setting import PUBLISHED
from varfocus.studies.reproduce.table1 import PRINTED, SHAPE_ORDER, observations

MEASURED = {
    "MLAP 1": dict(zip(SHAPE_ORDER, (2.31, 8.12, 3.35, 7.47), strict=True)),
    "MLAP 2": dict(zip(SHAPE_ORDER, (1.50, 2.46, 1.45, 2.09), strict=True)),
    "TV": dict(zip(SHAPE_ORDER, (1.33, 1.11, 1.45, 1.02), strict=True)),
}
"""Root-mean-square errors in centimetres of the prototype, with the texture of the simulator."""


# Table 1


@pytest.fixture(params=SHAPE_ORDER)
def shape(request, real_data):
    """A shape of Table 1 as the paper simulates it: its name, and the scene."""
    texture = read_texture(real_data("texture_rings.tif"))
    assert texture.shape == (360, 360)
    scene = simulate(request.param, texture=texture)
    assert scene.frames.shape == (15, 360, 360)
    return request.param, scene


def centimetres(scene, params):
    index = estimate(scene.stack, params).index
    return 100 * rmse(index_to_depth(index, scene.stack.focus), scene.truth_depth)


def test_table1_classical(shape):
    name, scene = shape
    one = centimetres(scene, Params.from_keywords("classic", window=9))
    two = centimetres(scene, Params.from_keywords("classic", window=41, median=11))
    assert one == pytest.approx(MEASURED["MLAP 1"][name], rel=0.2)
    assert two == pytest.approx(MEASURED["MLAP 2"][name], rel=0.2)
    assert two < one  # as in the paper


@pytest.mark.slow
def test_table1_variational(shape):
    name, scene = shape
    errors = [
        centimetres(scene, Params.from_keywords("paper", alpha=alpha, **PUBLISHED))
        for alpha in (1 / 8, 1 / 16, 1 / 32)
    ]
    assert min(errors) == pytest.approx(MEASURED["TV"][name], rel=0.2)
    assert min(errors) < MEASURED["MLAP 1"][name]  # as in the paper


@pytest.mark.slow
def test_table1_report(real_data):
    setting = Setting(quick=True, texture=read_texture(real_data("texture_rings.tif")))
    made = EXPERIMENTS["table1"](setting)
    (table,) = [block for block in made.blocks if isinstance(block, Table)]
    assert table.headings == ["method", *SHAPE_ORDER]
    rows = {row[0]: row[1:] for row in table.rows}
    assert {*PRINTED, "TV, our best α"} <= set(rows)
    assert rows["MLAP 1"][0].endswith("(2.51)")  # the printed number beside ours
    best = [float(cell.split()[0]) for cell in rows["TV, our best α"]]
    for column, error in enumerate(best):
        assert error < float(rows["MLAP 1"][column].split()[0])


def errors_of(**means):
    return {name: {shape: [value] for shape in SHAPE_ORDER} for name, value in means.items()}


def test_the_words_on_table1_follow_the_numbers():
    best = dict.fromkeys(SHAPE_ORDER, "TV")
    numbers = {"MLAP 1": 3.0, "MLAP 2": 2.0, "MLAP 2, step 1": 1.5, "TV": 1.0}
    agree = " ".join(observations(errors_of(**numbers), best))
    assert "more accurate than MLAP 2 on cone, plane, cosine, sphere, as in the paper" in agree
    assert "suffers from its interpolation" not in agree
    differ = " ".join(observations(errors_of(**{**numbers, "TV": 2.5}), best))
    assert "more accurate than MLAP 1 on cone, plane, cosine, sphere" in differ
    assert "than MLAP 2 on none of the shapes, but not on cone" in differ
    assert "unlike in the paper" in differ
    assert "suffers from its interpolation" in differ


# Curves


def test_telling_pixels_are_the_most_and_the_least_textured():
    contrast = np.full((3, 60, 70), 0.2, np.float32)
    contrast[1, 20:29, 40:49] = 1.0
    contrast[:, 41:50, 15:24] = 0.0
    contrast[:, :9, :9] = 9.0  # too close to the border
    assert telling_pixels(contrast) == ((24, 44), (45, 19))


def test_telling_pixels_of_the_scene():
    scene = simulate("textureless", shape=(96, 120), n=9)
    contrast = np.stack([mlap(scene.stack.read_unit(k)) for k in range(9)])
    textured, plain = telling_pixels(contrast)
    for i, j in (textured, plain):
        assert MARGIN <= i < 96 - MARGIN
        assert MARGIN <= j < 120 - MARGIN
    around = [scene.sharp[i - 4 : i + 5, j - 4 : j + 5] for i, j in (textured, plain)]
    rough, smooth = (mlap(patch).mean() for patch in around)
    assert rough > 20 * smooth


# Convergence


@pytest.fixture(scope="module")
def bound():
    return theorem(16, 200)


def test_the_bound_of_the_theorem_holds(bound):
    assert bound.holds
    assert min(bound.terms) > -1e-9 * bound.constant
    k = np.arange(1, len(bound.terms) + 1)
    assert (np.minimum.accumulate(bound.terms) <= bound.constant / k).all()


def test_the_bound_is_not_empty(bound):
    """The sum comes close to the constant, and a smaller constant would be exceeded."""
    total = bound.partial_sums[-1]
    assert total > 0.5 * bound.constant
    assert not Bound(bound.terms, 0.999 * total).holds
    assert Bound(bound.terms, total).holds
    assert not Bound([*bound.terms, bound.constant], bound.constant).holds


@pytest.mark.parametrize(("alpha", "lam"), [(0.02, 1.0), (0.3, 0.2), (0.1, 5.0)])
def test_the_bound_holds_for_other_weights(alpha, lam):
    assert theorem(8, 60, alpha, lam).holds


def test_the_race_is_run_on_one_problem():
    scene = simulate("table", shape=(40, 50), n=9)
    data, start = problem(scene.stack)
    assert start.dtype == np.float64
    race = run_race(data, start, Params().solve, quick=True)
    assert set(race) == {"linearised ADMM", "quadratic penalty", "forward–backward"}
    (start_energy,) = {trace.start_energy for trace in race.values()}
    for trace in race.values():
        assert min(trace.energy) < start_energy
        assert len(trace.energy) == len(trace.seconds)
    assert race["linearised ADMM"].constraint[-1] < race["linearised ADMM"].constraint[0]


# Comparison


def test_compare_makes_the_maps_of_the_figures():
    scene = simulate("steps", shape=(40, 50), n=9)
    seen = []
    maps = compare(scene.stack, progress=lambda *step: seen.append(step))
    assert len(maps) == 7
    assert seen[-1] == ("comparing", 7, 7)
    for index in maps.values():
        assert index.shape == (40, 50)
        assert 0 <= index.min() <= index.max() <= 8
    classic = Params.from_keywords("classic", window=9)
    np.testing.assert_array_equal(maps["MLAP 9×9"], estimate(scene.stack, classic).index)


def test_the_default_weights_are_the_paper_s():
    assert default_tv_weights(373) == (6.0, 26.0)


@pytest.mark.parametrize(
    ("alpha", "words"), [(1 / 8, "1/8"), (1 / 3, "1/3"), (1, "1"), (0.3, "0.3"), (0, "0")]
)
def test_fractions_are_written_as_people_do(alpha, words):
    assert fraction(alpha) == words


# Beyond the paper


def test_the_default_solver_is_certified_on_a_crop():
    data, start = crop("cosine", 12)
    case = certify("table", data, start, 1 / 8)
    assert case.found.bound <= case.found.energy <= case.default
    assert case.found.bound <= case.admm
    assert case.found.gap(case.default) < 0.01


def test_all_regularisers_are_measured_on_one_problem():
    scene = simulate("plane", shape=(28, 32))
    runs = measure(scene, 0.1, physical=True, alphas=(1 / 8,))
    assert set(runs) == set(choices(0.1))
    for by_alpha in runs.values():
        for error, bad, index in by_alpha.values():
            depth = index_to_depth(index, scene.stack.focus)
            assert error == pytest.approx(100 * rmse(depth, scene.truth_depth))
            assert 0 <= bad <= 1
    plain = Params.from_keywords("paper", alpha=0.1 * 1 / 8, **PUBLISHED)
    np.testing.assert_allclose(runs["TV"][1 / 8][2], estimate(scene.stack, plain).index, atol=1e-4)


# The report


class Cells(HTMLParser):
    """Collects the text of table cells, and every tag."""

    def __init__(self):
        super().__init__()
        self.tags, self.cells, self.open = [], [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open = tag in ("td", "th")
        if self.open:
            self.cells.append("")

    def handle_endtag(self, tag):
        self.open = self.open and tag not in ("td", "th")

    def handle_data(self, data):
        if self.open:
            self.cells[-1] += data


NASTY = ['<b>&"quoted"', "comma, semicolon; and\nline", "ε < 1 µm"]


@pytest.fixture
def png():
    file = io.BytesIO()
    Image.new("L", (3, 2)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def written(tmp_path, png):
    blocks = [
        Text("1 < 2 & <script>alert(1)</script>"),
        Table("numbers", NASTY, [["1", "2", "3"], NASTY]),
        Figure("plot", png, 'A "caption" <here>'),
    ]
    reports = [Report("first", "First & <second>", blocks), Report("other", "Other", [Text("x")])]
    return tmp_path, report.write(reports, tmp_path, "All <of> it")


def test_a_report_is_written_whole(written, png):
    folder, files = written
    assert files[0] == folder / "index.html"
    names = {"index.html", "index.md", "first.md", "other.md", "numbers.csv", "plot.png"}
    assert {path.name for path in files} == files_below(folder) == names
    assert (folder / "plot.png").read_bytes() == png
    assert {"index.html", "index.md", "first.md", "other.md"} <= names


def test_html_is_escaped(written):
    text = (written[0] / "index.html").read_text(encoding="utf-8")
    page = Cells()
    page.feed(text)
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert "here" not in page.tags
    assert page.cells == [*NASTY, "1", "2", "3", *NASTY]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<title>All &lt;of&gt; it</title>" in text
    assert 'alt="A &quot;caption&quot; &lt;here&gt;"' in text
    assert 'charset="utf-8"' in text


def test_csv_can_be_parsed(written):
    with (written[0] / "numbers.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [NASTY, ["1", "2", "3"], NASTY]


def test_markdown_shows_text_tables_and_pictures(written):
    text = (written[0] / "first.md").read_text(encoding="utf-8")
    assert text.startswith("# First & &lt;second>\n")
    assert "| 1 | 2 | 3 |" in text
    assert "(plot.png)" in text
    index = (written[0] / "index.md").read_text(encoding="utf-8")
    assert "- [Other](other.md)" in index


def test_every_experiment_has_its_name():
    paper = ["table1", "curves", "comparison", "convergence"]
    assert list(EXPERIMENTS) == [*paper, "regularisers", "certificate"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "table1"])
def test_experiments_run_quickly(name, tmp_path):
    steps = []
    made = EXPERIMENTS[name](Setting(quick=True, progress=lambda *step: steps.append(step)))
    assert made.name == name
    assert steps[0][:2] == (name, 0)
    assert steps[-1][1] == steps[-1][2]
    for path in report.write([made], tmp_path, "x"):
        assert path.stat().st_size > 30
        if path.suffix == ".png":
            with Image.open(path) as image:
                assert image.width > 500
    assert "VIOLATED" not in (tmp_path / f"{name}.md").read_text(encoding="utf-8")
