"""Evaluation: the arithmetic on hand-made cases, folders with truth, and the command as a whole."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile

from command_line import files_below, read_png, varfocus, write_frames
from varfocus import FocusStack, pipeline, simulate
from varfocus.errors import InputError, UsageError
from varfocus.params import Params
from varfocus.studies.evaluation import (
    METHOD_NAMES,
    Notebook,
    built_in,
    chosen,
    evaluate,
    folder_scene,
)
from varfocus.studies.evaluation.case import Case, Scene
from varfocus.studies.evaluation.goals import Goal, Verdict, verdicts
from varfocus.studies.evaluation.memory import FORGET_PEAK, Scales
from varfocus.studies.evaluation.runs import BEST, Record
from varfocus.studies.evaluation.scenes import TURNS, Sizes
from varfocus.studies.evaluation.scores import MEASURES, Scores, judge, least, mean_scores, ratio
from varfocus.studies.metrics import mae, rmse

TINY = Sizes((40, 40), (40, 48), (32, 32), (8, 20))


# Scores


def test_scores_of_a_hand_made_map():
    truth = np.zeros((20, 20), np.float32)
    truth[:, 10:] = 6.0  # one jump
    truth[0, 0] = np.nan
    index = truth.copy()
    index[5, 9] = 3.0  # beside the jump, off by 3
    index[5, 0] = 0.75  # 10 px from it
    confidence = np.ones_like(truth)
    confidence[5, 9] = 0.0
    case = Case(FocusStack.from_array(np.zeros((7, 20, 20))), truth, np.arange(7) * 0.5, "mm")
    scores = judge(case, index, confidence).scores
    pixels = 399
    assert scores.rmse == pytest.approx(0.5 * math.sqrt((9 + 0.75**2) / pixels))
    assert scores.mae == pytest.approx(0.5 * 3.75 / pixels)
    assert (scores.bad_half, scores.bad_one, scores.bad_two) == pytest.approx(
        (2 / pixels, 1 / pixels, 1 / pixels)
    )
    assert scores.rmse_at == pytest.approx(3 / math.sqrt(120))  # three columns on either side
    assert scores.bad_at == pytest.approx(1 / 120)
    assert scores.rmse_near == 0.0
    assert scores.rmse_away == pytest.approx(0.75 / math.sqrt(pixels - 16 * 20))
    assert scores.sure == pytest.approx((pixels - 1) / pixels)
    assert scores.sure_right == 1.0
    assert scores.missing == 0.0
    assert 0.0 < scores.kept < 0.3  # the worst pixel was the least confident one
    assert scores.calibration == pytest.approx(0.0, abs=1e-9)


def test_scores_without_jumps_say_nothing_of_bands():
    case = Case(FocusStack.from_array(np.zeros((3, 8, 8))), np.ones((8, 8), np.float32))
    scores = judge(case, np.ones((8, 8), np.float32), np.zeros((8, 8), np.float32)).scores
    assert math.isnan(scores.rmse_at)
    assert math.isnan(scores.sure_right)
    assert scores.sure == 0.0
    assert scores.calibration == 1.0  # always right, never sure


def test_ratios_means_and_minima():
    assert ratio(1.0, 4.0) == 0.25
    assert math.isnan(ratio(0.0, 0.0))
    assert ratio(1.0, 0.0) == math.inf
    a, b = of(1.0), replace(of(3.0), rmse_at=math.nan)
    assert mean_scores([a, b]) == replace(of(2.0), rmse_at=1.0)
    assert least([b, a]) == of(1.0)
    assert math.isnan(least([b, b]).rmse_at)


def of(value: float) -> Scores:
    return Scores(**dict.fromkeys(MEASURES, value))


# Goals


def record(scene: str, group: str, method: str = "robust", seed: int = 0, **figures) -> Record:
    case = judge(
        Case(FocusStack.from_array(np.zeros((3, 8, 8))), np.ones((8, 8), np.float32)),
        np.ones((8, 8), np.float32),
        np.ones((8, 8), np.float32),
    )
    scores = {k: v for k, v in figures.items() if k in MEASURES}
    ratios = {k.removesuffix("_ratio"): v for k, v in figures.items() if k.endswith("_ratio")}
    other = {k: v for k, v in figures.items() if k in ("difference", "change")}
    return Record(
        scene=Scene(scene, group, lambda _: None, swept=group != "variant"),
        seed=seed,
        method=method,
        size="3×8×8",
        unit="frames",
        judgement=replace(case, scores=replace(of(math.nan), **scores)),
        ratios=replace(of(math.nan), **ratios),
        seconds=0.1,
        memory=None,
        best_alpha=0.125,
        plain_ratio=math.nan,
        **{"difference": math.nan, "change": math.nan, **other},
    )


def test_a_goal_is_met_only_if_every_scene_meets_it_in_the_mean_over_seeds():
    records = [
        record("cone", "known", rmse_ratio=0.2, seed=0),
        record("cone", "known", rmse_ratio=0.28, seed=1),
        record("plane", "known", rmse_ratio=0.3),
        record("plane", "known", method="classic", rmse_ratio=9.0),
        record("steps", "jumps", rmse_ratio=0.9, bad_one_ratio=0.20),
    ]
    found = {verdict.goal.words: verdict for verdict in verdicts(records)}
    known = found["Table-1 shapes, distances known: RMSE ÷ paper"]
    assert known.values == pytest.approx({"cone": 0.24, "plane": 0.3})
    assert (known.met, known.worst, known.missed) == (False, "plane", ["plane"])
    assert known.words == "**missed** by 20 %; on plane"
    assert found["scenes with jumps: pixels off by > 1 frame ÷ paper"].met  # just so
    assert found["no scene lost: RMSE ÷ paper"].words == "met by 10 %"
    assert not any("noise" in words or "folders" in words for words in found)  # nothing to judge


def test_goals_that_must_be_reached():
    goal = Goal("right", lambda r: r.scores.sure_right, 0.97, ("jumps",), least=True, percent=True)
    verdict = Verdict(goal, {"steps": 0.99, "wire": 0.95, "table": 0.90})
    assert verdict.missed == ["table", "wire"]
    assert verdict.words == "**missed** by 7 points; on table, wire"
    assert Verdict(goal, {"steps": 0.99}).words == "met by 2 points"


def test_folders_are_compared_with_the_classical_method_too():
    records = [
        record("mine", "smooth", rmse=0.2, rmse_ratio=0.1),
        record("mine", "smooth", method="classic", rmse=0.1),
    ]
    (verdict,) = [v for v in verdicts(records) if "9×9" in v.goal.words]
    assert verdict.words == "**missed** by 300 %; on mine"


def test_variants_are_judged_by_their_difference():
    records = [record("steps-mirrored", "variant", difference=0.05)]
    (verdict,) = verdicts(records)
    assert verdict.goal.shown(verdict.values[verdict.worst]) == "5 %"
    assert verdict.words == "**missed** by 3 points; on steps-mirrored"


# Scenes


def test_scenes_have_names_of_their_own_and_variants_follow_their_plain_scene():
    names = [scene.name for scene in built_in(TINY)]
    assert len(names) == len(set(names))
    for scene in built_in(TINY):
        if scene.plain is not None:
            assert names.index(scene.plain) < names.index(scene.name)


def test_undone_variants_have_the_plain_truth():
    scenes = {scene.name: scene for scene in built_in(TINY)}
    for scene in scenes.values():
        if scene.plain is not None:
            plain, variant = scenes[scene.plain].make(1), scene.make(1)
            np.testing.assert_allclose(scene.undo(variant.truth), plain.truth, atol=2e-5)


@pytest.mark.parametrize("turn", TURNS)
def test_turning_frames_turns_the_depth(turn):
    frames = simulate("steps", shape=(32, 40), seed=1).frames
    change, undo = TURNS[turn]
    classic = Params.from_keywords("classic")
    plain = pipeline.estimate(FocusStack.from_array(frames), classic).index
    turned = pipeline.estimate(FocusStack.from_array(change(frames)), classic).index
    assert np.median(np.abs(undo(turned) - plain)) < 1e-4


def test_scenes_are_chosen_by_pattern_with_what_they_are_compared_with():
    scenes = built_in(TINY)
    assert [s.name for s in chosen(scenes, ["steps-mirrored", "wire"])] == [
        "wire",
        "steps-15-frames",
        "steps-mirrored",
    ]
    assert len(chosen(scenes, ["cone*"])) == 4
    assert chosen(scenes, []) == scenes
    with pytest.raises(UsageError, match="no scene"):
        chosen(scenes, ["pyramid"])


# Runs


def test_the_yardstick_is_the_paper_at_its_best_weight():
    scenes = chosen(built_in(TINY), ["steps", "steps-15-frames", "steps-mirrored"])
    notebook = Notebook()
    for outcome in evaluate(scenes, ["classic"], [0, 1]):
        notebook.add(outcome)
        scores = [run.scores.rmse for run in outcome.runs.values()]
        if outcome.scene.swept:
            assert list(outcome.runs) == ["classic", "paper", BEST]
            assert outcome.least.rmse == outcome.runs[BEST].scores.rmse == min(scores[1:])
    records = notebook.records
    assert len(records) == 2 * (3 + 3 + 2)
    for each in records:
        if each.method == BEST:
            assert each.ratios.rmse == 1.0
            assert each.ratios.bad_one >= 1.0
    mirrored = [r for r in records if r.scene.name == "steps-mirrored" and r.method == "classic"]
    assert [r.change for r in mirrored] == pytest.approx([1.0, 1.0], abs=1e-3)
    assert all(r.difference < 0.02 for r in mirrored)


def test_every_method_is_evaluated():
    assert set(METHOD_NAMES) | {"auto"} == {*pipeline.METHODS, "guided", "rdf"}


@pytest.mark.skipif(not FORGET_PEAK.exists(), reason="peak memory is known on Linux only")
def test_memory_is_what_the_method_holds():
    stack = FocusStack.from_array(simulate("plane", shape=(160, 200), n=12).frames)
    peak = Scales().weigh(stack, "classic")
    volume = 4 * 12 * 160 * 200
    assert volume < peak < 20 * volume


# Folders


def stack_folder(folder: Path, n: int = 5, shape: tuple[int, int] = (12, 16)) -> Path:
    rng = np.random.default_rng(0)
    write_frames(folder / "frames", rng.integers(0, 255, (n, *shape), np.uint8))
    return folder


@pytest.mark.parametrize("name", ["truth.npy", "truth.npz", "truth_index.tif", "truth_index.npy"])
def test_truth_in_frames(tmp_path, name):
    folder = stack_folder(tmp_path / "mine")
    truth = np.linspace(0, 4, 12 * 16, dtype=np.float32).reshape(12, 16)
    truth[0, 0] = np.nan
    save = {"npy": np.save, "npz": np.savez, "tif": tifffile.imwrite}[name.rpartition(".")[2]]
    save(folder / name, truth)
    scene = folder_scene(folder)
    case = scene.make(0)
    np.testing.assert_array_equal(case.truth, truth)
    assert (scene.name, scene.group, case.unit) == ("mine", "smooth", "frames")
    assert case.stack.focus is None


def test_truth_in_physical_units(tmp_path):
    folder = stack_folder(tmp_path / "mine")
    (folder / "focus.csv").write_text("z_um\n10\n12\n14\n18\n20\n")
    truth = np.full((12, 16), 13.0)
    truth[:, 8:] = 19.0
    np.save(folder / "truth_depth.npy", truth)
    scene = folder_scene(folder)
    case = scene.make(0)
    assert (scene.group, case.unit) == ("jumps", "um")
    np.testing.assert_allclose(case.truth, np.where(truth == 13.0, 1.5, 3.5), atol=1e-6)
    np.testing.assert_array_equal(case.stack.focus, [10, 12, 14, 18, 20])
    scores = judge(case, case.truth + np.float32(0.5), np.ones_like(case.truth)).scores
    assert scores.mae == pytest.approx(1.0, abs=1e-5)  # half a frame is 1 um here and there


def test_a_slope_in_a_stack_of_many_frames_is_no_jump(tmp_path):
    folder = stack_folder(tmp_path / "mine", n=57)
    np.save(folder / "truth.npy", np.tile(np.arange(16) * 3.0, (12, 1)))
    assert folder_scene(folder).group == "smooth"
    np.save(folder / "truth.npy", np.tile(np.arange(16) // 8 * 5.0, (12, 1)))
    assert folder_scene(folder).group == "jumps"


def test_frames_beside_their_truth(tmp_path):
    folder = write_frames(tmp_path / "mine", np.random.default_rng(0).random((4, 9, 9)))
    for name in ("truth.tif", "sharp.tif"):
        tifffile.imwrite(folder / name, np.ones((9, 9), np.float32))
    assert len(folder_scene(folder).make(0).stack) == 4


def test_a_truth_of_a_part_of_the_frames(tmp_path):
    folder = stack_folder(tmp_path / "mine")
    np.save(folder / "truth.npy", np.ones((6, 7)))
    with pytest.raises(InputError, match=r"truth of 7×6 for frames of 16×12"):
        folder_scene(folder)
    with pytest.raises(InputError, match=r"from row 7, column 0"):
        folder_scene(folder, (7, 0))
    truth = folder_scene(folder, (2, 3)).make(0).truth
    assert np.isfinite(truth[2:8, 3:10]).all()
    assert np.isfinite(truth).sum() == 42


def test_truth_outside_the_stack_is_unknown(tmp_path):
    folder = stack_folder(tmp_path / "mine")
    truth = np.ones((12, 16))
    truth[3, 4] = 7.0
    np.save(folder / "truth.npy", truth)
    assert np.isnan(folder_scene(folder).make(0).truth[3, 4])


def test_other_peoples_stacks_are_read_as_they_are(real_data):
    scene = folder_scene(real_data("gt_1"), (20, 20))
    assert scene.group == "smooth"
    known = np.isfinite(scene.make(0).truth)
    assert known[20:379, 20:379].all()
    assert known.sum() == 359**2


# The command


def test_evaluate_a_folder_from_simulate(capsys, tmp_path):
    stack, out = tmp_path / "stack", tmp_path / "out"
    sizes = ["--size", 48, 40, "--frames", 9]
    assert varfocus(capsys, "simulate", "plane", "-o", stack, *sizes).code == 0
    said = varfocus(capsys, "evaluate", stack, "--scenes", "none", "-o", out)
    assert said.code == 0, said.err
    assert "stack: RMSE in m: classic" in said.err
    assert "| smooth surfaces of others (folders): RMSE ÷ paper | ≤ 0.25 |" in said.out
    assert files_below(out) == {
        *("index.html", "index.md", "evaluation.md", "depth_maps.md"),
        *("goals.csv", "scores.csv", "confidence.csv", "where.csv", "runs.csv", "evaluation.json"),
        *("reliability.png", "sparsification.png", "depth_stack.png"),
    }
    with (out / "runs.csv").open(encoding="utf-8") as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert set(rows) == {*METHOD_NAMES, BEST}
    scene = simulate("plane", shape=(40, 48), n=9)
    result = pipeline.run(scene.stack, Params.from_keywords("robust"))
    truth = scene.truth_depth
    assert float(rows["robust"]["rmse"]) == pytest.approx(rmse(result.depth, truth), rel=1e-3)
    assert float(rows["robust"]["mae"]) == pytest.approx(mae(result.depth, truth), rel=1e-3)
    assert float(rows["robust"]["rmse_ratio"]) == pytest.approx(
        float(rows["robust"]["rmse"]) / float(rows[BEST]["rmse"]), rel=1e-4
    )
    picture = read_png(out / "depth_stack.png")
    assert picture.shape[1] > picture.shape[0] > 100

    before = {name: (out / name).read_bytes() for name in files_below(out)}
    again = varfocus(capsys, "evaluate", stack, "--scenes", "none", "-o", out)
    assert again.code == 2
    assert "--overwrite" in again.err
    assert before == {name: (out / name).read_bytes() for name in files_below(out)}


def test_evaluate_for_programs(capsys, tmp_path):
    stack, out = tmp_path / "stack", tmp_path / "out"
    varfocus(capsys, "simulate", "steps", "-o", stack, "--size", 48, 40, "--frames", 9)
    command = ["evaluate", stack, "--scenes", "none", "--methods", "robust", "-o", out, "--json"]
    said = varfocus(capsys, *command)
    assert said.code == 0, said.err
    told = json.loads(said.out)
    goals = {goal["goal"]: goal for goal in told["goals"]}
    jumps = goals["within 3 px of a jump: RMSE ÷ paper"]
    assert jumps["met"] == (jumps["values"]["stack"] <= jumps["limit"])
    assert all(Path(path).is_file() for path in told["files"])
    assert not any("9×9" in words for words in goals)  # the classical method was not run


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--methods", "magic"], 2, ["--methods magic", "robust, paper, classic"]),
        (["--seeds", "0"], 2, ["--seeds 0", "at least 1"]),
        (["--scenes", "pyramid"], 2, ["--scenes pyramid", "cone-known"]),
        (["--scenes", "none"], 2, ["no folder", "something to evaluate"]),
        (["nowhere"], 3, ["nowhere: is not a folder"]),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(capsys, tmp_path, arguments, code, words):
    said = varfocus(capsys, "evaluate", *arguments, "-o", tmp_path / "out")
    assert said.code == code
    assert all(word in said.err for word in words)
    assert not files_below(tmp_path)


def bad_truth(folder: Path, kind: str) -> None:
    match kind:
        case "damaged":
            (folder / "truth.npy").write_bytes(b"\x93NUMPY\x01")
        case "volume":
            np.save(folder / "truth.npy", np.ones((2, 12, 16)))
        case "pickled":
            np.save(folder / "truth.npy", np.full((12, 16), None), allow_pickle=True)
        case "metres":
            np.save(folder / "truth.npy", np.full((12, 16), 400.0))
        case "nothing":
            np.save(folder / "truth.npy", np.full((12, 16), np.nan))
        case "depth":
            np.save(folder / "truth_depth.npy", np.ones((12, 16)))
        case "shape":
            tifffile.imwrite(folder / "truth.tif", np.ones((12, 15), np.float32))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("none", ["mine: has no truth", "truth_index", "varfocus simulate"]),
        ("damaged", ["truth.npy: cannot be decoded"]),
        ("volume", ["shape (2, 12, 16)", "one real number per pixel"]),
        ("pickled", ["truth.npy: holds Python objects"]),
        ("metres", ["values from 400 to 400 for 5 frames", "0-based frame numbers"]),
        ("nothing", ["no number", "0-based frame numbers"]),
        ("depth", ["truth_depth.npy: is a depth", "focus.csv"]),
        ("shape", ["truth of 15×12 for frames of 16×12", "--truth-origin"]),
    ],
)
def test_folders_without_a_usable_truth(capsys, tmp_path, kind, words):
    bad_truth(stack_folder(tmp_path / "mine"), kind)
    said = varfocus(capsys, "evaluate", tmp_path / "mine", "-o", tmp_path / "out")
    assert said.code == 3
    assert all(word in said.err for word in words), said.err
    assert "Traceback" not in said.err
    assert not (tmp_path / "out").exists()


def test_two_scenes_of_one_name(capsys, tmp_path):
    for place in ("a", "b"):
        np.save(stack_folder(tmp_path / place / "mine") / "truth.npy", np.ones((12, 16)))
    folders = [tmp_path / place / "mine" for place in ("a", "b")]
    said = varfocus(capsys, "evaluate", *folders, "--scenes", "none", "-o", tmp_path / "out")
    assert said.code == 2
    assert "more than one scene called mine" in said.err
