"""Where errors lie, splits that never meet, pictures of a user's own, and the command on them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import ndimage

from command_line import files_below, varfocus
from known_depth import write_picture
from varfocus import FocusStack, simulate
from varfocus.errors import InputError
from varfocus.simulation import APERTURES, SCENES
from varfocus.studies.evaluation import (
    Case,
    folder_scene,
    lens_scenes,
    paper_runs,
    picture_folders,
    picture_scene,
    recipes,
    row,
    split_of,
    stack_folders,
)
from varfocus.studies.evaluation.goals import Goal, Verdict
from varfocus.studies.evaluation.lenses import CHOICES, PUBLIC, SPLITS
from varfocus.studies.evaluation.maps import read_map
from varfocus.studies.evaluation.pictures import read_picture, unmixed
from varfocus.studies.evaluation.places import PLACES, areas, nothing_speaks, places
from varfocus.studies.evaluation.scores import MEASURES, Scores, geometric_mean
from varfocus.studies.evaluation.single import ratios

# Where the error lies


def test_every_pixel_has_one_place_and_squared_errors_add_up():
    truth = np.zeros((30, 40), np.float32)
    truth[:, 20:] = 6.0
    truth[0, 0] = np.nan
    plain = np.zeros((30, 40), bool)
    plain[:, :15] = True
    where = areas(truth, 9, plain)
    assert np.array_equal(sum(where[name].astype(int) for name in PLACES), np.isfinite(truth))
    index = truth.copy()
    index[5, 19] = 3.0  # at the jump
    index[6, 15] = 2.0  # 5 px from it
    index[7, 3] = 5.0  # where nothing speaks, a ghost
    index[8, 35] = 7.0
    found = places(index, truth, where)
    total = 9 + 4 + 25 + 1
    assert [found[name].squared for name in PLACES] == pytest.approx(
        [9 / total, 4 / total, 25 / total, 1 / total]
    )
    assert sum(place.share for place in found.values()) == pytest.approx(1)
    assert found["rest"].bad == 0.0  # exactly a frame is good
    case = Case(FocusStack.from_array(np.zeros((9, 30, 40))), truth)
    figures = row(case, index)
    assert figures["ghosts"] == pytest.approx(1 / 1199)
    assert figures["squared_ghosts"] == pytest.approx(25 / total)


def test_nothing_speaks_where_a_scene_is_plain():
    made = simulate("textureless", shape=(96, 120), n=9)
    stack = FocusStack.from_array(made.frames)
    plain = nothing_speaks(stack, made.truth_index)
    deviation = ndimage.generic_filter(made.sharp.sum(axis=2), np.ptp, 9)
    flat = deviation < 1e-6  # one brightness all over the window
    assert flat.sum() > 500
    assert plain[flat].mean() > 0.9
    assert plain[deviation > 0.5].mean() < 0.2
    textured = simulate("cone", shape=(96, 120), n=9)
    speaks = nothing_speaks(FocusStack.from_array(textured.frames), textured.truth_index)
    assert speaks.mean() < 0.05


def test_a_row_compares_with_the_paper_and_keeps_its_maps(tmp_path):
    made = simulate("steps", shape=(40, 48), n=7)
    case = Case(FocusStack.from_array(made.frames), made.truth_index)
    paper = paper_runs(case, (1.0, 1 / 8), keep=tmp_path / "kept")
    assert len(files_below(tmp_path / "kept")) == 2
    again = paper_runs(case, (1.0, 1 / 8), keep=tmp_path / "kept")
    for alpha, run in paper.items():
        np.testing.assert_array_equal(run.index, again[alpha].index)
    assert len(files_below(tmp_path / "kept")) == 2
    best = min(paper.values(), key=lambda run: run.scores.rmse)
    figures = row(case, best.index, best.confidence, paper)
    assert figures["rmse_ratio"] == 1.0
    assert figures["rmse"] == best.scores.rmse
    assert row(case, paper[1.0].index, None, paper)["plain_ratio"] in (
        1.0,
        pytest.approx(math.nan, nan_ok=True),
    )
    other = Case(FocusStack.from_array(made.frames[:, ::-1]), made.truth_index[::-1].copy())
    paper_runs(other, (1.0,), keep=tmp_path / "kept")
    assert len(files_below(tmp_path / "kept")) == 4  # other frames, other maps


def test_crops_are_the_middle():
    made = simulate("steps", shape=(40, 48), n=4)
    case = Case(FocusStack.from_array(made.frames), made.truth_index).cropped(32)
    np.testing.assert_array_equal(case.truth, made.truth_index[4:36, 8:40])
    np.testing.assert_array_equal(case.stack.read(1), made.frames[1][4:36, 8:40])


def test_ratios_of_a_few_bad_pixels_say_nothing():
    few, some = (Scores(**dict.fromkeys(MEASURES, value)) for value in (0.0004, 0.1))
    assert math.isnan(ratios(few, few).bad_one)
    assert ratios(some, few).bad_one == pytest.approx(100)
    assert ratios(few, some).ghosts == pytest.approx(0.01)
    assert ratios(few, some).rmse == pytest.approx(0.004)


# Splits


def test_splits_share_neither_scenes_nor_seeds_nor_apertures():
    dev, test = (CHOICES[split] for split in SPLITS)
    assert not set(dev.apertures) & set(test.apertures)
    assert set(dev.apertures) | set(test.apertures) == set(APERTURES)
    assert not set(dev.frames) & set(test.frames)
    assert not set(PUBLIC["dev"]) & set(PUBLIC["test"])
    seeds = [{r.seed for k in range(40) for r in recipes(k, s, design="full")} for s in SPLITS]
    assert not seeds[0] & seeds[1]
    assert split_of("greek") == "dev"
    assert split_of("Dino") == "test"
    names = [split_of(f"scene{k}") for k in range(100)]
    assert 30 < names.count("dev") < 70


def test_recipes_go_round():
    square = [recipe for scene in range(9) for recipe in recipes(scene, "dev")]
    assert len(square) == 27
    pairs = {(r.camera.aperture, r.camera.grain) for r in square}
    assert len(pairs) == 9
    assert {r.camera.jpeg for r in square} == {None, 92}
    assert {r.spacing for r in square} == {"dioptre", "distance"}
    one = [recipes(scene, "test", design="one") for scene in range(6)]
    assert all(len(of_scene) == 1 for of_scene in one)
    assert {r.frames for (r,) in one} == set(CHOICES["test"].frames)
    assert len(recipes(0, "dev", design="full")) == 27
    (single,) = recipes(0, "dev", ["bubble"], [0.02], [5])
    assert single.name == "bubble-noise2-5frames"


def test_built_in_scenes_are_seen_by_every_lens_of_a_split():
    scenes = lens_scenes((24, 32), "test")
    assert len(scenes) == 3 * len(SCENES)
    assert len({scene.name for scene in scenes}) == len(scenes)
    case = scenes[0].make(0)
    assert case.stack.shape == case.truth.shape == (24, 32)
    assert scenes[0].group == "pictures"


def test_goals_for_all_scenes_together():
    goal = Goal("together", lambda r: r.ratios.rmse, 0.5, ("pictures",), together=True)
    verdict = Verdict(goal, {"a": 0.25, "b": 0.9})
    assert verdict.judged == pytest.approx(math.sqrt(0.25 * 0.9))
    assert verdict.met
    assert Verdict(goal, {"a": 0.5, "b": 0.9}).words == "**missed** by 34 %; 1 scenes above"
    assert geometric_mean([0.0, 1.0]) == pytest.approx(0.1)
    assert math.isnan(geometric_mean([math.nan]))


# Pictures of a user's own


def test_a_picture_becomes_a_stack_that_is_sharp_where_the_truth_says(tmp_path):
    folder = write_picture(tmp_path / "greek")
    picture, depth = read_picture(folder)
    assert depth[20, 20] < depth[0, 0]  # larger disparity is nearer
    (recipe,) = recipes(0, "dev", ["disc"], [0.0], [5])
    case = picture_scene(folder, recipe, None).make(0)
    far, near = case.truth[0, 0], case.truth[20, 25]
    assert near < 1 < 3 < far
    sharp = np.rint(255 * picture).astype(int)
    errors = [np.abs(frame.astype(int) - sharp)[15:27, 17:37].mean() for frame in case.stack]
    assert np.argmin(errors) == round(float(near))


def test_depth_in_metres_and_grey_maps_of_floats(tmp_path):
    folder = write_picture(tmp_path / "mine")
    (folder / "disparity.npz").unlink()
    metres = np.full((48, 56), 2.0, np.float32)
    metres[12:30, 14:40] = 0.5
    flat = metres[::-1].astype("<f4").tobytes()
    (folder / "depth.pfm").write_bytes(b"Pf\n56 48\n-1.0\n" + flat)
    np.testing.assert_array_equal(read_map(folder / "depth.pfm"), metres)
    np.testing.assert_allclose(read_picture(folder)[1], metres, rtol=1e-5)
    (folder / "depth.pfm").write_bytes(b"Pf\n56 48\n-1.0\n" + flat[:-4])
    with pytest.raises(InputError, match="ends early"):
        read_picture(folder)


def test_pixels_between_two_surfaces_belong_to_the_closer_one():
    row_ = np.array([[0, 0, 0.7, 1, 1, 1, 0.4, 0, 0.1, 0.2]])
    expected = [[0, 0, 1, 1, 1, 1, 0, 0, 0.1, 0.2]]
    np.testing.assert_array_equal(unmixed(row_, 0.15), expected)
    np.testing.assert_array_equal(unmixed(row_.T, 0.15), np.array(expected).T)
    wire = np.array([[0, 0, 1, 0, 0]])
    np.testing.assert_array_equal(unmixed(wire, 0.15), wire)


def test_folders_of_pictures_and_stacks(tmp_path):
    write_picture(tmp_path / "a")
    write_picture(tmp_path / "b")
    (tmp_path / "notes").mkdir()
    assert [path.name for path in picture_folders(tmp_path)] == ["a", "b"]
    assert picture_folders(tmp_path / "a") == [tmp_path / "a"]
    with pytest.raises(InputError, match="no picture"):
        picture_folders(tmp_path / "notes")
    with pytest.raises(InputError, match="no stack"):
        stack_folders(tmp_path)


def test_the_command_on_pictures_and_stacks(capsys, tmp_path):
    write_picture(tmp_path / "pictures" / "greek")
    write_picture(tmp_path / "pictures" / "museum")
    varfocus(
        *(capsys, "simulate", "steps", "-o", tmp_path / "stacks" / "kitchen"),
        *("--size", 48, 40, "--frames", 5),
    )
    out = tmp_path / "out"
    command = ["evaluate", "--pictures", tmp_path / "pictures", "--stacks", tmp_path / "stacks"]
    command += ["--split", "test", "--quick", "--crop", 40, "--methods", "classic", "robust"]
    said = varfocus(capsys, *command, "-o", out)
    assert said.code == 0, said.err
    assert "museum-hexagon-noise0.5-12frames" in said.err
    assert "kitchen" in said.err
    assert "greek" not in said.err  # it is of the other split
    assert "| pictures, other lenses: RMSE ÷ paper, geometric mean | ≤ 0.50 |" in said.out
    told = json.loads((out / "evaluation.json").read_text(encoding="utf-8"))
    assert {run["scene"] for run in told["runs"]} == {"museum-hexagon-noise0.5-12frames", "kitchen"}
    assert all(run["frames"].endswith("×40×40×3") for run in told["runs"])
    assert {"summary.csv", "where.csv", "depth_kitchen.png"} <= set(files_below(out))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--pictures", "nowhere"], 3, ["nowhere: holds no picture"]),
        (["--stacks", "nowhere"], 3, ["nowhere: holds no stack"]),
        (["--crop", "8"], 2, ["--crop 8", "32"]),
        (["--noise", "3"], 2, ["--noise 3", "0 to 1"]),
        (["--frames", "2"], 2, ["--frames 2", "at least 3"]),
        (["--split", "train"], 2, ["dev", "test"]),
        (["--apertures", "star"], 2, ["star"]),
    ],
)
def test_what_makes_no_sense_is_refused(capsys, tmp_path, arguments, code, words):
    said = varfocus(capsys, "evaluate", *arguments, "-o", tmp_path / "out")
    assert said.code == code
    assert all(word in said.err for word in words), said.err
    assert not files_below(tmp_path)


def test_a_split_without_scenes(capsys, tmp_path):
    write_picture(tmp_path / "greek")
    said = varfocus(
        capsys, "evaluate", "--pictures", tmp_path, "--split", "test", "-o", tmp_path / "out"
    )
    assert said.code == 2
    assert "--split test" in said.err


def test_other_peoples_pictures_are_split_in_halves(real_data):
    folders = picture_folders(real_data("rgbd"))
    names = [split_of(folder.name) for folder in folders]
    assert names.count("dev") == names.count("test") == 6
    (recipe,) = recipes(0, "dev", ["disc"], [0.01], [5])
    case = picture_scene(folders[0], recipe, 64).make(0)
    assert case.stack.shape == (64, 64)
    assert np.isfinite(case.truth).mean() > 0.5


# varfocus simulate


def test_simulate_a_picture_with_another_lens(capsys, tmp_path):
    folder, out = write_picture(tmp_path / "greek"), tmp_path / "out"
    options = ["--aperture", "disc", "--grain", "0.01", "--blur", "2", "--frames", 4]
    said = varfocus(capsys, "simulate", folder, "-o", out, *options, "--size", 40, 32)
    assert said.code == 0, said.err
    assert "4 frames of 40×32" in said.out
    scene = folder_scene(out)
    assert scene.make(0).truth.shape == (32, 40)
    other = tmp_path / "other"
    options[1] = "square"
    assert varfocus(capsys, "simulate", folder, "-o", other, *options, "--size", 40, 32).code == 0
    first, second = ((place / "frames" / "frame_0.png").read_bytes() for place in (out, other))
    assert first != second


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], ["nowhere", "cone, plane", "folder"]),
        (["cone", "--aperture", "star"], ["star", "disc"]),
        (["cone", "--jpeg", "0"], ["jpeg", "1 to 100"]),
        (["cone", "--vignetting", "2"], ["vignetting"]),
    ],
)
def test_cameras_that_make_no_sense(capsys, tmp_path, arguments, words):
    said = varfocus(capsys, "simulate", *arguments, "-o", tmp_path / "out")
    assert said.code == 2
    assert all(word in said.err for word in words), said.err
    assert not files_below(tmp_path)
