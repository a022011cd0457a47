"""Measurements of surfaces whose figures are known in closed form."""

import csv
import json

import numpy as np
import pytest

from command_line import read_png, varfocus
from result_folders import saved_of
from varfocus.errors import InputError, ParameterError
from varfocus.surface.measure import (
    CORRELATION_AREA,
    Region,
    expected_area,
    height_parameters,
    level,
    profile,
    step_height,
)


def grid(rows, columns):
    y, x = np.mgrid[:rows, :columns].astype(np.float64)
    return x, y


def values(height, **options):
    return {name: q.value for name, q in height_parameters(height, **options).items()}


# Height parameters


def test_a_sinusoid():
    """Over whole periods: Sa = 2A/π, Sq = A/√2, Sz = 2A, Ssk = 0, Sku = 3/2."""
    x, _ = grid(10, 1000)
    found = values(3.0 * np.sin(2 * np.pi * (x + 0.5) / 250))
    assert found["Sa"] == pytest.approx(6 / np.pi, rel=1e-4)
    assert found["Sq"] == pytest.approx(3 / np.sqrt(2), rel=1e-12)
    assert found["Sz"] == pytest.approx(6, rel=1e-4)
    assert found["Sp"] == pytest.approx(found["Sv"])
    assert found["Ssk"] == pytest.approx(0, abs=1e-12)
    assert found["Sku"] == pytest.approx(1.5, rel=1e-12)


def test_gaussian_heights(rng):
    found = values(rng.normal(5, 2, (600, 600)))
    assert found["Sq"] == pytest.approx(2, rel=0.01)
    assert found["Sa"] == pytest.approx(2 * np.sqrt(2 / np.pi), rel=0.01)
    assert found["Ssk"] == pytest.approx(0, abs=0.02)
    assert found["Sku"] == pytest.approx(3, rel=0.02)


def test_scaling_mirroring_and_unknown_pixels(rng):
    height = rng.normal(size=(50, 60)) ** 3
    first, doubled, mirrored = (values(h) for h in (height, 2 * height + 7, -height))
    for name in ("Sa", "Sq", "Sz", "Sp", "Sv"):
        assert doubled[name] == pytest.approx(2 * first[name])
    for name in ("Ssk", "Sku"):
        assert doubled[name] == pytest.approx(first[name])
    assert mirrored["Ssk"] == pytest.approx(-first["Ssk"])
    assert mirrored["Sp"] == pytest.approx(first["Sv"])
    holed = height.copy()
    holed[10:20] = np.nan
    assert values(holed) == values(np.delete(height, range(10, 20), axis=0))


def test_a_flat_surface_has_no_shape():
    found = values(np.full((5, 5), 3.0))
    assert found["Sq"] == found["Sa"] == found["Sz"] == 0
    assert np.isnan(found["Ssk"])


def test_errors_are_what_repeated_measurements_show(rng):
    """Independent noise, correlation area 1: the spread over 200 noisy copies, within 20 %."""
    x, y = grid(40, 50)
    surface = np.sin(x / 5) + 0.3 * np.cos(y / 3) ** 3
    sigma = np.full(surface.shape, 0.05) * (1 + x / 50)
    copies = [values(surface + sigma * rng.normal(size=surface.shape)) for _ in range(200)]
    predicted = height_parameters(surface, sigma, correlation_area=1.0)
    for name in ("Sa", "Sq", "Ssk", "Sku"):
        spread = np.std([copy[name] for copy in copies])
        assert predicted[name].error == pytest.approx(spread, rel=0.2)
    assert predicted["Sz"].error > predicted["Sp"].error > 0


def test_correlated_noise_needs_its_correlation_area(rng):
    """Noise that is constant over 4×4 blocks has a correlation area of 16."""
    surface = np.sin(grid(48, 48)[0] / 5)
    sigma = np.full(surface.shape, 0.05)

    def noise():
        return np.kron(rng.normal(size=(12, 12)), np.ones((4, 4)))

    spread = np.std([values(surface + sigma * noise())["Sq"] for _ in range(300)])
    predicted = height_parameters(surface, sigma, correlation_area=16.0)["Sq"].error
    assert predicted == pytest.approx(spread, rel=0.2)


def test_noisy_and_large_stacks_err_over_more_pixels():
    assert expected_area((100, 100), 2.0) == pytest.approx(2 * expected_area((100, 100), 4.0))
    assert expected_area((200, 300), 2.0) == pytest.approx(2 * expected_area((100, 150), 2.0))
    assert expected_area((200, 300), None) == CORRELATION_AREA


# Levelling


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_polynomials_are_levelled_to_nothing(degree):
    x, y = grid(60, 80)
    surface = 3 + 0.2 * x - 0.1 * y
    if degree > 1:
        surface += 1e-3 * (x - 20) ** 2 + 2e-3 * x * y
    if degree > 2:
        surface += 1e-5 * y**3
    surface[20:25, 30:40] = np.nan
    levelled = level(surface, degree)
    np.testing.assert_array_equal(np.isnan(levelled), np.isnan(surface))
    assert np.nanmax(np.abs(levelled)) < 1e-9


def test_dust_does_not_tilt_the_plane(rng):
    x, y = grid(60, 80)
    plane = 0.2 * x - 0.1 * y
    noise = 0.01 * rng.normal(size=plane.shape)
    dust = np.where((x > 60) & (y < 20), 50.0, 0.0)  # 8 % of the area, all in one corner
    residual = level(plane + noise + dust, 1)
    clean = dust == 0
    np.testing.assert_allclose(residual[clean], noise[clean], atol=0.002)


def test_levelling_needs_pixels():
    with pytest.raises(InputError, match="expected at least 3"):
        level(np.full((4, 4), np.nan), 1)
    with pytest.raises(ParameterError, match="level = -1"):
        level(np.zeros((4, 4)), -1)


# Profiles


def test_a_plane_along_any_line():
    x, y = grid(50, 70)
    plane = 2 * x - 3 * y
    for start, end in (((0, 0), (69, 49)), ((10.5, 3.25), (40, 45.5)), ((5, 40), (5, 2))):
        found = profile(plane, start, end)
        np.testing.assert_allclose(found.height, 2 * found.x - 3 * found.y, atol=1e-9)
        assert (found.x[0], found.y[0]) == start
        assert (found.x[-1], found.y[-1]) == end


def test_width_averages_across_the_line(rng):
    image = np.repeat(rng.normal(size=(9, 1)), 20, axis=1)
    found = profile(image, (0, 4), (19, 4), width=5)
    np.testing.assert_allclose(found.height, image[2:7, 0].mean())
    image[3] = np.nan
    found = profile(image, (0, 4), (19, 4), width=5)
    np.testing.assert_allclose(found.height, np.nanmean(image[2:7, 0]))


def test_unknown_stretches_are_gaps():
    image = np.ones((5, 30))
    image[:, 10:20] = np.nan
    found = profile(image, (0, 2), (29, 2), sigma=np.full(image.shape, 0.1))
    np.testing.assert_array_equal(np.isnan(found.height), np.isnan(image[2]))
    np.testing.assert_allclose(found.error[~np.isnan(image[2])], 0.1)


def test_a_wide_mean_is_surer_only_beyond_the_correlation(rng):
    image, sigma = np.zeros((60, 20)), np.full((60, 20), 0.3)
    errors = {
        width: profile(image, (0, 30), (19, 30), width=width, sigma=sigma, correlation_area=100)
        for width in (1, 9, 40)
    }
    assert errors[1].error[5] == pytest.approx(0.3)
    assert errors[9].error[5] == pytest.approx(0.3)
    assert errors[40].error[5] == pytest.approx(0.3 / 2)


@pytest.mark.parametrize("end", [(70, 3), (-1, 3), (3, 50)])
def test_lines_stay_inside(end):
    with pytest.raises(ParameterError, match="expected places"):
        profile(np.zeros((50, 70)), (0, 0), end)


# Steps


def test_a_step_on_a_tilted_surface(rng):
    x, y = grid(60, 100)
    surface = 0.3 * x - 0.2 * y + np.where(x >= 50, 7.0, 0.0)
    surface[10:12, 10:20] = np.nan
    found = step_height(surface, Region(5, 5, 35, 50), Region(60, 5, 35, 50))
    assert found.height.value == pytest.approx(7.0, abs=1e-9)
    assert found.tilt == pytest.approx((0.3, -0.2))
    assert found.pixels == (35 * 50 - 20, 35 * 50)
    assert found.height.error is None
    back = step_height(surface, Region(60, 5, 35, 50), Region(5, 5, 35, 50))
    assert back.height.value == pytest.approx(-7.0, abs=1e-9)


def test_the_error_of_a_step_is_what_repetition_shows(rng):
    x, _ = grid(40, 60)
    surface = np.where(x >= 30, 7.0, 0.0)
    sigma = np.full(surface.shape, 0.4)
    regions = Region(2, 2, 25, 36), Region(33, 2, 25, 36)
    found = [
        step_height(surface + sigma * rng.normal(size=surface.shape), *regions).height.value
        for _ in range(200)
    ]
    predicted = step_height(surface, *regions, sigma=sigma, correlation_area=1.0).height.error
    assert predicted == pytest.approx(np.std(found), rel=0.2)


def test_regions_that_make_no_sense():
    flat = np.zeros((20, 20))
    with pytest.raises(ParameterError, match="do not overlap"):
        step_height(flat, Region(0, 0, 10, 10), Region(9, 9, 5, 5))
    with pytest.raises(ParameterError, match="inside 20 × 20"):
        step_height(flat, Region(0, 0, 10, 10), Region(15, 0, 6, 5))
    flat[:10] = np.nan
    with pytest.raises(InputError, match="0 pixels of known height"):
        step_height(flat, Region(0, 0, 10, 10), Region(0, 12, 5, 5))


# The command


def test_measuring_by_the_command_line(tmp_path, capsys):
    x, y = grid(60, 100)
    # Depth grows away from the lens: the right half is 7 um farther.
    depth = 40 + 0.3 * x - 0.2 * y + np.where(x >= 50, 7.0, 0.0)
    about = {"focus": [0, 50, 100], "unit": "um", "pixel_size": (2.0, 2.0, "um")}
    saved_of(tmp_path / "r", depth, **about, uncertainty=0.1)
    done = varfocus(
        *(capsys, "measure", tmp_path / "r", "--step", "5,5,35,50", "60,5,35,50"),
        *("--line", "0,30,99,30", "--width", 5, "--json"),
    )
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert facts["unit"] == "um"
    assert facts["valid_share"] == 1.0
    assert facts["step"]["height"]["value"] == pytest.approx(-7.0, abs=1e-4)
    assert 0.05 < facts["step"]["height"]["error"] < 0.3
    rows = list(csv.reader((tmp_path / "r" / "profile.csv").read_text().splitlines()))
    assert rows[0][0] == "distance (um)"
    assert rows[0][3] == "height (um)"
    assert len(rows) == 101
    assert float(rows[-1][0]) == pytest.approx(198)
    assert read_png(tmp_path / "r" / "profile.png").shape[1] == 960
    again = varfocus(capsys, "measure", tmp_path / "r", "--line", "0,30,99,30")
    assert again.code == 2
    assert "--overwrite" in again.err


def test_a_sinusoid_by_the_command_line(tmp_path, capsys):
    x, _ = grid(40, 200)
    saved_of(tmp_path / "r", 0.1 * x + 5 * np.sin(2 * np.pi * (x + 0.5) / 20))
    done = varfocus(capsys, "measure", tmp_path / "r", "--region", "0,10,200,20")
    assert done.code == 0
    assert "ISO 25178" in done.out
    assert "100.0% of 4000 pixels valid" in done.out
    (line,) = (line for line in done.out.splitlines() if line.startswith("Sq"))
    assert float(line.split()[1]) == pytest.approx(5 / np.sqrt(2), rel=0.01)
    assert line.split()[2] == "frames"
    assert "no standard errors" in done.err


def test_a_flat_surface_is_valid_json(tmp_path, capsys):
    saved_of(tmp_path / "r", np.full((20, 30), 2.0))
    said = varfocus(capsys, "measure", tmp_path / "r", "--json")
    facts = json.loads(said.out, parse_constant=lambda name: pytest.fail(name))
    assert facts["parameters"]["Sq"]["value"] == pytest.approx(0, abs=1e-12)
    assert facts["parameters"]["Ssk"]["value"] is None


@pytest.mark.parametrize(
    "options",
    [
        ("--line", "1,2,3"),
        ("--region", "0,0,500,5"),
        ("--region", "0.5,0,5,5"),
        ("--step", "0,0,5,5", "x"),
        ("--output", "a.csv"),
        ("--level", "-1"),
        ("--min-confidence", "1"),
    ],
)
def test_requests_that_make_no_sense(tmp_path, capsys, options):
    saved_of(tmp_path / "r", np.zeros((20, 30)))
    done = varfocus(capsys, "measure", tmp_path / "r", *options)
    assert done.code in (2, 3)
    assert "expected" in done.err
    assert "Traceback" not in done.err
