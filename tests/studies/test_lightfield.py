"""The light-field benchmark: stacks of known disparity, measures by hand, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

from command_line import files_below, varfocus
from known_depth import SIZE, light_field, write_light_field
from varfocus.errors import InputError
from varfocus.studies.evaluation.lightfield import (
    PIXELS_PER_FRAME,
    benchmark_scenes,
    bumpiness,
    focal_stack,
    measures,
    oriented,
    shifted,
)


def test_a_frame_is_sharp_where_its_disparity_is():
    views, disparity = light_field()
    frames = focal_stack(views)
    middle = views[2, 2].astype(np.float32)
    errors = np.abs(frames - middle).mean(axis=3)
    inside = np.zeros((SIZE, SIZE), bool)
    inside[17:29, 17:29] = True
    border = np.ones((SIZE, SIZE), bool)
    border[6:-6, 6:-6] = False
    assert errors[:, inside].mean(axis=1).argmin() == 7
    assert errors[7, inside].mean() < 0.4 * errors[2, inside].mean()
    background = (disparity < 0) & ~border
    assert errors[:, background].mean(axis=1).argmin() == 2
    whole = focal_stack(views, [0.0])[0]
    np.testing.assert_allclose(whole, views.mean(axis=(0, 1)), atol=1e-3)


@pytest.mark.parametrize("flip", [(), (0,), (1,), (0, 1)])
def test_the_order_of_the_cameras_is_found(flip):
    views, disparity = light_field()
    np.testing.assert_array_equal(oriented(np.flip(views, flip), disparity), views)


def test_shifts():
    ramp = np.tile(np.arange(20, dtype=np.float32), (3, 1))
    np.testing.assert_array_equal(shifted(ramp, 3.0, 1)[:, 5:], ramp[:, 5:] - 3)
    np.testing.assert_allclose(shifted(ramp, -1.25, 1)[:, 3:-4], ramp[:, 3:-4] + 1.25, atol=1e-5)
    np.testing.assert_array_equal(shifted(ramp, 0.0, 0), ramp)


def test_measures_by_hand():
    truth = np.full((20, 20), 4.0, np.float32)
    truth[0, 0] = np.nan
    found = measures(truth + np.float32(0.9), truth)
    assert found["rmse"] == pytest.approx(0.5, rel=1e-5)  # 0.9 frames of 5/9 px
    assert found["mse"] == pytest.approx(0.25, rel=1e-5)
    assert found["bad"] == 1.0
    assert measures(truth + np.float32(0.07 / PIXELS_PER_FRAME - 1e-3), truth)["bad"] == 0.0
    assert found["bumpiness"] == pytest.approx(0.0, abs=1e-4)  # a constant error is not bumpy


def test_bumpiness():
    y, x = np.indices((20, 20), dtype=np.float64)
    flat = np.zeros((20, 20))
    slope = bumpiness(0.01 * x, flat)
    assert bumpiness(1e-3 * x + 2e-3 * y, flat) < 0.1  # but for the mirrored border
    assert slope < bumpiness(0.01 * x**2, flat)
    spikes = np.where((x + y) % 2 == 0, 1.0, 0.0) * (x % 4 == 0)
    assert bumpiness(spikes, flat) <= 5.0
    inner = 1e-3 * x**2  # dxx = 2·10⁻³, and each Scharr derivative is twice the slope
    unknown = flat.copy()
    unknown[:3], unknown[-3:], unknown[:, :3], unknown[:, -3:] = [np.nan] * 4
    assert bumpiness(inner, unknown) == pytest.approx(100 * 4 * 2e-3)


def test_light_fields_and_stacks_are_told_apart(tmp_path):
    write_light_field(tmp_path / "fields" / "dino")
    (scene,) = benchmark_scenes(tmp_path / "fields")
    case = scene.make(0)
    assert scene.name == "dino"
    assert len(case.stack) == 10
    np.testing.assert_allclose(np.unique(case.truth), [2, 7], atol=1e-5)
    with pytest.raises(InputError, match="no stack"):
        benchmark_scenes(tmp_path)


@pytest.mark.parametrize(
    ("damage", "words"),
    [("view", "24 views"), ("truth", "no disparity"), ("grid", "parameters.cfg")],
)
def test_damaged_light_fields(tmp_path, damage, words):
    folder = write_light_field(tmp_path / "dino")
    match damage:
        case "view":
            (folder / "input_Cam003.png").unlink()
        case "truth":
            (folder / "gt_disp_lowres.pfm").unlink()
        case "grid":
            (folder / "parameters.cfg").write_text("nothing here")
    with pytest.raises(InputError, match=words):
        benchmark_scenes(folder)[0].make(0)


def test_the_command(capsys, tmp_path):
    write_light_field(tmp_path / "fields" / "dino")
    out = tmp_path / "out"
    command = ["evaluate", "--benchmark", "lightfield", tmp_path / "fields", "-o", out]
    said = varfocus(capsys, *command, "--methods", "robust")
    assert said.code == 0, said.err
    assert "| AiFDepthNet | – | 0.201 | – | – | printed |" in said.out
    assert "| varfocus robust |" in said.out
    assert "not the same scenes" in said.out
    told = json.loads((out / "evaluation.json").read_text(encoding="utf-8"))
    assert told["means"]["robust"]["rmse"] == told["scenes"][-1]["rmse"]
    assert {"lightfield.md", "lightfield.csv", "depth_dino.png"} <= set(files_below(out))
    assert varfocus(capsys, "evaluate", "--benchmark", "lightfield", "-o", out).code == 2
