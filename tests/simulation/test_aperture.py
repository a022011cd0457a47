"""Apertures: light is kept, shapes are what they are called, and in focus nothing happens."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from varfocus import simulate
from varfocus.errors import ParameterError
from varfocus.simulation import APERTURES, Camera, make_texture
from varfocus.simulation.aperture import point_spread, spread
from varfocus.simulation.blur import blur
from varfocus.simulation.camera import expose, falloff, grainy
from varfocus.simulation.jpeg import LUMA, compressed, steps

EVERYWHERE = pytest.mark.parametrize("aperture", APERTURES)


def deviation(kernel: np.ndarray, axis: int) -> float:
    m = np.arange(len(kernel)) - len(kernel) // 2
    return float(np.sqrt((kernel.astype(np.float64).sum(axis=1 - axis) * m**2).sum()))


@EVERYWHERE
@pytest.mark.parametrize("sigma", [0.05, 0.7, 3.0, 6.3])
def test_light_is_kept_and_the_shape_is_symmetric(aperture: str, sigma: float) -> None:
    kernel = point_spread(aperture, sigma)
    assert kernel.sum() == pytest.approx(1, abs=1e-5)
    assert kernel.min() >= 0
    for turned in (kernel[::-1], kernel[:, ::-1]):
        np.testing.assert_allclose(turned, kernel, atol=1e-7)
    if sigma >= 3:  # a pixel adds its own width, 1/12
        for axis in (0, 1):
            assert deviation(kernel, axis) == pytest.approx(np.hypot(sigma, 12**-0.5), rel=0.02)


def test_shapes() -> None:
    disc, bubble, square = (point_spread(name, 5.0) for name in ("disc", "bubble", "square"))
    assert len(disc) == 21  # a radius of 2σ
    middle = len(bubble) // 2
    assert bubble[middle, 1] > 1.9 * bubble[middle, middle]  # the rim
    assert disc[len(disc) // 2, 2] == pytest.approx(disc.max())  # no rim
    np.testing.assert_allclose(square[2:-2, 2:-2], square.max(), rtol=1e-5)
    six = point_spread("hexagon", 8.0)
    turned = ndimage.rotate(six, 60, reshape=False, order=1)
    assert np.abs(turned - six).sum() < 0.1
    assert np.abs(ndimage.rotate(six, 30, reshape=False, order=1) - six).sum() > 0.1


def test_the_cats_eye_is_a_disc_in_the_middle_and_narrow_towards_the_corners() -> None:
    np.testing.assert_array_equal(point_spread("cats-eye", 4.0), point_spread("disc", 4.0))
    corner = point_spread("cats-eye", 4.0, (1.0, 1.0))
    across, along = (np.trace(k) for k in (corner, corner[::-1]))
    assert (corner > 0).sum() < (point_spread("disc", 4.0) > 0).sum()
    assert np.count_nonzero(np.diag(corner)) < np.count_nonzero(np.diag(corner[::-1]))
    assert across != along
    dots = np.zeros((97, 97), np.float32)
    dots[[12, 48], [12, 48]] = 1.0
    (image,) = spread(dots, [4.0], "cats-eye")
    near_corner, centre = image[:25, :25], image[36:61, 36:61]
    np.testing.assert_allclose(centre, centre[::-1], atol=1e-5)
    assert np.abs(near_corner - near_corner[::-1]).max() > 1e-3


@EVERYWHERE
def test_a_plain_picture_stays_plain_and_one_in_focus_stays_as_it_is(aperture: str) -> None:
    plain = np.full((37, 50, 3), 0.4, np.float32)
    for result in spread(plain, [0.0, 1.0, 5.0], aperture):
        np.testing.assert_allclose(result, 0.4, atol=1e-5)
    picture = make_texture((37, 50))
    sharp, blurred = spread(picture, [0.0, 3.0], aperture)
    np.testing.assert_array_equal(sharp, picture)
    assert blurred.mean() == pytest.approx(picture.mean(), abs=0.02)


@pytest.mark.parametrize("aperture", ["disc", "square", "hexagon", "bubble"])
def test_blur_is_a_convolution_that_mirrors_the_border(aperture: str) -> None:
    picture = make_texture((40, 33))
    for sigma, result in zip(
        (0.4, 2.0, 7.0), spread(picture, [0.4, 2.0, 7.0], aperture), strict=True
    ):
        expected = ndimage.convolve(picture, point_spread(aperture, sigma), mode="reflect")
        np.testing.assert_allclose(result, expected, atol=2e-6)


@EVERYWHERE
def test_a_width_for_every_pixel(aperture: str) -> None:
    picture = make_texture((40, 48))
    sigma = np.full((2, 40, 48), 2.0, np.float32)
    sigma[1, :, 24:] = 0.0
    first, second = blur(picture, sigma, aperture=aperture)
    (uniform,) = blur(picture, np.full((1, 1, 1), 2.0, np.float32), aperture=aperture)
    np.testing.assert_allclose(first, uniform, atol=1e-5)
    np.testing.assert_allclose(second[:, :24], uniform[:, :24], atol=1e-5)
    np.testing.assert_allclose(second[:, 24:], picture[:, 24:], atol=1e-6)


@EVERYWHERE
@pytest.mark.parametrize("name", ["steps", "cone"])
def test_every_scene_has_every_aperture(aperture: str, name: str) -> None:
    size, n = (36, 44), 3
    made = simulate(name, shape=size, n=n, noise=0, camera=Camera(aperture=aperture))
    plain = simulate(name, shape=size, n=n, noise=0)
    np.testing.assert_array_equal(made.truth_index, plain.truth_index)
    assert made.frames.shape == plain.frames.shape
    difference = np.abs(made.frames.astype(float) - plain.frames).mean()
    assert difference < 12
    assert (difference == 0) == (aperture == "gauss")


# What comes after the lens


def test_grain_grows_with_the_light() -> None:
    rng = np.random.default_rng(0)
    for light, expected in ((0.1, 0.36), (0.5, 1.0), (0.9, 1.64)):
        noisy = grainy(np.full(200_000, light, np.float32), 0.01, rng)
        assert noisy.var() == pytest.approx(expected * 1e-4, rel=0.02)
        assert noisy.mean() == pytest.approx(light, abs=1e-4)
    image = make_texture((9, 9))
    assert grainy(image, 0.0, rng) is image


def test_vignetting_darkens_the_corners() -> None:
    light = falloff((101, 201), 0.4)
    assert light[50, 100] == 1.0
    assert light[0, 0] == pytest.approx(0.6, abs=0.01)
    np.testing.assert_array_equal(light, light[::-1, ::-1])
    frames = expose(np.full((1, 8, 8), 0.5, np.float32), 0, 0, camera=Camera(vignetting=0.4))
    assert frames[0, 0, 0] < frames[0, 4, 4]


def test_gamma_keeps_the_sharp_picture_and_blurs_light() -> None:
    bright = simulate("steps", shape=(40, 48), n=5, noise=0, camera=Camera(gamma=2.2))
    plain = simulate("steps", shape=(40, 48), n=5, noise=0)
    assert np.abs(bright.sharp - plain.sharp).mean() < 0.01
    # Light spreads from bright to dark: stored values are higher where it mixes.
    assert bright.frames.mean() > plain.frames.mean() + 0.5


@pytest.mark.parametrize("quality", [40, 75, 92])
def test_jpeg_is_what_the_codec_makes_of_it(quality: int) -> None:
    picture = np.rint(255 * make_texture((53, 70), colour=True)).astype(np.uint8)
    for image, limit in ((picture[..., 0], 0.6), (picture, 2.0)):
        file = io.BytesIO()
        Image.fromarray(image).save(file, "jpeg", quality=quality, subsampling=2)
        decoded = np.asarray(Image.open(file)).astype(float)
        ours = compressed(image, quality)
        assert np.abs(ours - decoded).mean() < limit
        assert np.abs(ours.astype(float) - image).mean() > np.abs(ours - decoded).mean()


def test_jpeg_steps() -> None:
    np.testing.assert_array_equal(steps(LUMA, 50), LUMA)
    assert steps(LUMA, 100).max() == 1
    grey = np.full((20, 24), 77, np.uint8)
    np.testing.assert_array_equal(compressed(grey, 100), grey)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"aperture": "star"}, "aperture"),
        ({"grain": -1.0}, "grain"),
        ({"vignetting": 1.0}, "vignetting"),
        ({"gamma": 0.0}, "gamma"),
        ({"jpeg": 0}, "jpeg"),
        ({"jpeg": 101}, "jpeg"),
    ],
)
def test_bad_cameras(options: dict[str, object], word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        Camera(**options)


def test_jpeg_needs_eight_bits() -> None:
    with pytest.raises(ParameterError, match="8 bit"):
        simulate("steps", shape=(16, 16), n=2, dtype="uint16", camera=Camera(jpeg=90))
