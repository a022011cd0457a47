"""Strokes: what they cover, what they change, and that files and tiles repeat them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import varfocus as vf
from command_line import read_png, varfocus, write_pictures
from result_folders import in_small_tiles, result_of, with_maps
from varfocus.align import Alignment
from varfocus.errors import ParameterError
from varfocus.export.saved import load_result
from varfocus.geometry import Rectangle
from varfocus.params import Params
from varfocus.retouch import Retouch, Stroke
from varfocus.retouch import apply as applying
from varfocus.retouch.apply import coverage, signed_distance

SQUARE = ((10, 10), (30, 10), (30, 25), (10, 25))
FAST = ["--method", "classic", "--align", "none", "-q"]


def strokes(*made, width=50, height=40, frames=3):
    return Retouch(width, height, frames, made)


def plane(height=40, width=50, a=0.1, b=-0.05, c=10.0):
    y, x = np.mgrid[:height, :width] + 0.5
    return (c + a * x + b * y).astype(np.float32)


# What a stroke covers


def test_distances_of_a_brush_and_of_an_outline_are_those_of_geometry():
    box = Rectangle(3, 5, 40, 30)
    y, x = np.mgrid[5:35, 3:43] + 0.5
    dot = signed_distance(Stroke("erase-depth", ((20, 20),), radius=9), box, 50)
    np.testing.assert_allclose(dot, 9 - np.hypot(x - 20, y - 20), atol=1e-4)
    line = signed_distance(Stroke("erase-depth", ((10, 20), (30, 20)), radius=4), box, 50)
    past = np.maximum(np.maximum(10 - x, x - 30), 0)
    np.testing.assert_allclose(line, 4 - np.hypot(past, y - 20), atol=1e-4)
    square = signed_distance(Stroke("erase-depth", SQUARE, feather=50), box, 50)
    within = np.minimum.reduce([x - 10, 30 - x, y - 10, 25 - y])
    outside = np.hypot(
        np.maximum(np.maximum(10 - x, x - 30), 0), np.maximum(np.maximum(10 - y, y - 25), 0)
    )
    np.testing.assert_allclose(square, np.where(within > 0, within, -outside), atol=1e-4)


@given(
    points=st.lists(st.tuples(st.floats(-5, 60), st.floats(-5, 60)), min_size=3, max_size=8),
    radius=st.one_of(st.none(), st.floats(0.5, 20)),
    feather=st.floats(0, 12),
    cut=st.integers(1, 39),
)
def test_coverage_is_a_share_and_does_not_depend_on_where_the_image_is_cut(
    points, radius, feather, cut
):
    stroke = Stroke("erase-depth", tuple(points), radius=radius, feather=feather)
    whole = coverage(signed_distance(stroke, Rectangle(0, 0, 50, 40)), feather)
    parts = [
        coverage(signed_distance(stroke, box), feather)
        for box in (Rectangle(0, 0, 50, cut), Rectangle(0, cut, 50, 40 - cut))
    ]
    assert (whole >= 0).all()
    assert (whole <= 1).all()
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    near = applying.touched(stroke, Rectangle(0, 0, 50, 40))
    outside = np.ones((40, 50), bool)
    outside[near.window] = False
    assert not whole[outside].any()


# The picture


def paintable(rng, n=4, shape=(40, 50, 3), dtype=np.uint8):
    frames = rng.integers(0, np.iinfo(dtype).max, (n, *shape)).astype(dtype)
    result = result_of(plane(*shape[:2]), fused=np.full(shape, 77, dtype))
    stack = vf.FocusStack.from_array(frames)
    return replace(result, stack=stack), frames


def test_painting_takes_the_pixels_of_a_frame_and_leaves_the_rest(rng):
    result, frames = paintable(rng)
    done = result.retouched(strokes(Stroke("paint", SQUARE, frame="frame 2"), frames=4))
    window = np.s_[10:25, 10:30]
    expected = result.fused.copy()
    expected[window] = frames[2][window]
    np.testing.assert_array_equal(done.fused, expected)
    assert (done.source[window] == 2).all()
    assert done.source.sum() == 2 * 15 * 20
    assert done.depth is result.depth  # and nothing else is even copied
    assert (result.fused == 77).all()
    assert (done.retouched(None).fused == 77).all()  # undone


def test_a_soft_brush_mixes_and_later_strokes_lie_over_earlier_ones(rng):
    result, frames = paintable(rng)
    soft = Stroke("paint", ((25, 20),), radius=10, feather=10, frame=1)
    done = result.retouched(strokes(soft, frames=4)).fused.astype(float)
    w = coverage(signed_distance(soft, Rectangle(0, 0, 50, 40)), 10)[..., None]
    np.testing.assert_allclose(done, 77 + w * (frames[1] - 77.0), atol=0.51)
    assert 0 < w[20, 20, 0] < 1
    hard = replace(soft, feather=0.0, frame="frame 3")
    both = result.retouched(strokes(soft, hard, frames=4))
    only = result.retouched(strokes(hard, frames=4))
    inside = w[..., 0] > 0
    np.testing.assert_array_equal(both.fused[inside], only.fused[inside])


def test_places_are_those_of_the_frames_whatever_was_cropped(rng):
    frames = rng.integers(0, 255, (5, 60, 80), np.uint8)
    stroke = Stroke("paint", ((40, 30), (52, 34)), radius=5, frame=4)
    erase = Stroke("erase-depth", ((30, 20), (44, 20), (37, 40)))
    retouch = Retouch(80, 60, 5, (stroke, erase))
    whole = vf.reconstruct(frames, "classic", align="none")
    part = vf.reconstruct(frames, "classic", align="none", crop="20,10,50,40")
    painted, cropped = whole.retouched(retouch), part.retouched(retouch)
    window = np.s_[10:50, 20:70]
    new = np.asarray(painted.fused != whole.fused)[window]
    assert new.sum() > 50
    np.testing.assert_array_equal(painted.fused[window][new], cropped.fused[new])
    np.testing.assert_array_equal(np.isnan(painted.depth[window]), np.isnan(cropped.depth))
    assert np.isnan(cropped.depth).sum() > 50


def test_frames_are_painted_as_they_were_aligned(rng):
    frames = rng.integers(0, 255, (5, 40, 50), np.uint8)
    stack = vf.FocusStack.from_array(frames)
    moved = Alignment.untouched(stack, "")
    matrices = moved.matrices.copy()
    matrices[3, :2, 2] = 4.0, -2.0
    alignment = replace(moved, model="shift", matrices=matrices, left_out={1: "blurred"})
    result = vf.reconstruct(stack, "classic", align="none")
    result = replace(result, stack=alignment.apply(stack), alignment=alignment, original=stack)
    window = np.s_[15:25, 15:25]
    done = result.retouched(strokes(Stroke("paint", SQUARE, frame=3), frames=5))
    np.testing.assert_array_equal(done.fused[window], frames[3][13:23, 19:29])
    assert (done.source[window] == 2).all()  # numbers count frames that take part
    with pytest.raises(ParameterError, match="take part"):
        _ = result.retouched(strokes(Stroke("paint", SQUARE, frame=1), frames=5)).fused


def test_another_result_is_painted_at_its_place(rng, tmp_path):
    frames = rng.integers(0, 255, (5, 60, 80, 3), np.uint8)
    other = vf.reconstruct(frames, "classic", align="none", crop="10,5,60,50")
    other.save(tmp_path / "other", report=False)
    plain = vf.reconstruct(frames, "classic", align="none", sharper=0)
    box = ((20, 15), (50, 15), (50, 45), (20, 45))
    (tmp_path / "strokes.json").write_text(
        json.dumps(Retouch(80, 60, 5, (Stroke("paint", box, picture="other"),)).as_data())
    )
    done = plain.retouched(vf.read_strokes(tmp_path / "strokes.json"))
    np.testing.assert_array_equal(done.fused[15:45, 20:50], other.fused[10:40, 10:40])
    wide = Stroke("paint", ((0, 0), (70, 0), (70, 50)), picture=str(tmp_path / "other"))
    with pytest.raises(ParameterError, match="where it paints"):
        _ = plain.retouched(Retouch(80, 60, 5, (wide,))).fused


# The depth


def test_a_plane_continues_what_is_around_a_hole_and_is_not_called_measured():
    truth = plane()
    broken = truth.copy()
    broken[10:25, 10:30] = np.nan
    broken[12, 12] = 400.0
    broken[8, 11:14] = 90.0  # dust beside the outline
    result = with_maps(
        result_of(truth, uncertainty=0.2), depth=broken, uncertainty=np.full((40, 50), 0.2, "f4")
    )
    done = result.retouched(strokes(Stroke("fill-depth", SQUARE)))
    np.testing.assert_allclose(done.depth[10:25, 10:30], truth[10:25, 10:30], atol=1e-3)
    np.testing.assert_array_equal(done.depth[26:], broken[26:])
    assert (done.confidence[10:25, 10:30] == 0).all()
    assert np.isnan(done.uncertainty[10:25, 10:30]).all()
    assert (done.confidence[26:] == result.confidence[26:]).all()
    record = done.record(timed=False)
    assert record["uncertainty"]["median"] == pytest.approx(0.2)
    assert record["retouch"]["strokes"][0]["tool"] == "fill-depth"
    nothing = with_maps(result, depth=np.full((40, 50), np.nan, np.float32))
    with pytest.raises(ParameterError, match="nothing known around"):
        nothing.retouched(strokes(Stroke("fill-depth", SQUARE)))


@pytest.mark.parametrize("inverted", [False, True])
def test_setting_depth_means_the_focus_of_a_frame(inverted):
    result = result_of(plane(), focus=[0, 5, 20], unit="um", inverted=inverted)
    done = result.retouched(strokes(Stroke("set-depth", SQUARE, frame=1.5, feather=4)))
    assert done.depth[17, 20] == pytest.approx(20 - 12.5 if inverted else 12.5)
    assert done.index[17, 20] == pytest.approx(1.5)
    assert done.depth[0, 0] == result.depth[0, 0]
    edge = done.depth[17, 11]
    assert min(result.depth[17, 11], done.depth[17, 20]) < edge
    assert edge < max(result.depth[17, 11], done.depth[17, 20])


def test_erasing_makes_unknown_and_setting_afterwards_makes_known():
    result = result_of(plane())
    erase = Stroke("erase-depth", ((20, 20),), radius=6)
    gone = result.retouched(strokes(erase))
    assert np.isnan(gone.depth).sum() == pytest.approx(np.pi * 36, rel=0.05)
    assert (gone.confidence[np.isnan(gone.depth)] == 0).all()
    back = result.retouched(strokes(erase, Stroke("set-depth", SQUARE, frame=1)))
    assert np.isfinite(back.depth[10:25, 10:30]).all()


def test_smoothing_keeps_a_plane_and_calms_noise_inside_alone(rng):
    smooth = Stroke("smooth-depth", ((25, 20),), radius=12, sigma=2)
    flat = result_of(plane()).retouched(strokes(smooth))
    np.testing.assert_allclose(flat.depth, plane(), atol=2e-5)
    noisy = plane() + rng.normal(0, 1, (40, 50)).astype(np.float32)
    noisy[20, 25] = np.nan
    done = result_of(noisy).retouched(strokes(smooth))
    inside = coverage(signed_distance(smooth, Rectangle(0, 0, 50, 40)), 0) > 0
    inside[20, 25] = False
    assert (done.depth - plane())[inside].std() < 0.35
    np.testing.assert_array_equal(done.depth[~inside], noisy[~inside])  # NaN stays NaN
    assert (done.confidence == result_of(noisy).confidence).all()


def test_blocks_do_not_show(rng, monkeypatch):
    noisy = plane() + rng.normal(0, 1, (40, 50)).astype(np.float32)
    made = (
        Stroke("smooth-depth", ((5, 5), (45, 35)), radius=9, feather=4, sigma=3),
        Stroke("fill-depth", SQUARE, feather=3),
        Stroke("set-depth", ((40, 8),), radius=6, frame=2),
    )
    whole = result_of(noisy).retouched(strokes(*made)).depth
    monkeypatch.setattr(applying, "BLOCK", 16)
    np.testing.assert_allclose(result_of(noisy).retouched(strokes(*made)).depth, whole, atol=2e-5)


def test_tiles_are_retouched_like_the_whole(tmp_path):
    scene = vf.simulate("steps", shape=(150, 200), n=6)
    (tmp_path / "strokes.json").write_text(
        json.dumps(
            Retouch(
                200,
                150,
                6,
                (
                    Stroke("paint", ((100, 75), (150, 120)), radius=20, feather=8, frame=5),
                    Stroke("fill-depth", ((90, 50), (160, 60), (120, 140)), feather=5),
                ),
            ).as_data()
        )
    )
    params = Params.from_keywords("classic", align="none", retouch=tmp_path / "strokes.json")
    whole = vf.reconstruct(scene.stack, "classic", align="none", retouch=tmp_path / "strokes.json")
    in_small_tiles(scene.stack, params, tmp_path / "tiles")
    tiled = load_result(tmp_path / "tiles")
    np.testing.assert_array_equal(tiled.fused, whole.fused)
    np.testing.assert_array_equal(tiled.depth, whole.depth)
    np.testing.assert_array_equal(tiled.confidence, whole.confidence)


# The command line


@pytest.fixture(scope="module")
def shots(tmp_path_factory):
    frames = vf.simulate("steps", shape=(40, 50), n=5).frames
    return write_pictures(tmp_path_factory.mktemp("shots"), frames, "img")


def test_the_command_line_repeats_strokes_from_a_file_and_from_a_record(capsys, shots, tmp_path):
    made = strokes(
        Stroke("paint", SQUARE, frame="img4.png"), Stroke("erase-depth", SQUARE), frames=5
    )
    (tmp_path / "strokes.json").write_text(json.dumps(made.as_data()))
    first, second, params = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    retouch = ["--retouch", tmp_path / "strokes.json"]
    assert varfocus(capsys, "depth", shots, "-o", first, *retouch, *FAST).code == 0
    assert varfocus(capsys, "depth", shots, "-o", second, "--retouch", first, *FAST).code == 0
    record = first / "run.json"
    assert varfocus(capsys, "depth", shots, "-o", params, "--params", record, "-q").code == 0
    done = load_result(first)
    assert Retouch.from_data(done.record["retouch"]) == made
    np.testing.assert_array_equal(
        done.fused[10:25, 10:30], read_png(shots / "img4.png")[10:25, 10:30]
    )
    assert np.isnan(done.depth[10:25, 10:30]).all()
    for folder in (second, params):
        for name in ("depth.tif", "fused.png", "confidence.tif", "source.tif"):
            assert (folder / name).read_bytes() == (first / name).read_bytes()
    picture = tmp_path / "fused.png"
    assert varfocus(capsys, "fuse", shots, "-o", picture, *retouch, *FAST).code == 0
    np.testing.assert_array_equal(read_png(picture), done.fused)


GOOD = strokes(Stroke("erase-depth", SQUARE), frames=5).as_data()
BAD = {
    "stroke 0: received the tool 'scratch'": {"tool": "scratch"},
    "stroke 0: received frame with 'erase-depth'": {"frame": 2},
    "stroke 0: received 'set-depth' without frame": {"tool": "set-depth"},
    "stroke 0: received no source with 'paint'": {"tool": "paint"},
    "stroke 0: received radius = -1": {"radius": -1},
    "stroke 0: received feather = None": {"feather": None},
    "stroke 0: received points that are not pairs": {"points": [1, 2, 3]},
    "stroke 0: received 2 points of an outline": {"points": [[0, 0], [1, 1]]},
    "stroke 0: received points far away": {"points": [[0, 0], [1, 1], [1e99, 2]]},
    "stroke 0: received colour": {"colour": "red"},
}


@pytest.mark.parametrize("words", BAD)
def test_a_wrong_stroke_is_named(capsys, shots, tmp_path, words):
    data = GOOD | {"strokes": [GOOD["strokes"][0] | BAD[words]]}
    (tmp_path / "strokes.json").write_text(json.dumps(data))
    done = varfocus(
        capsys, "depth", shots, "-o", tmp_path / "o", "--retouch", tmp_path / "strokes.json", *FAST
    )
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "o" / "run.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be used"),
        ("[]", "received no strokes"),
        ('{"varfocus_retouch": 2}', "version 2"),
        ('{"varfocus_retouch": 1}', "no list of strokes"),
        (json.dumps(GOOD | {"width": 51}), "drawn on frames of 51×40"),
        (json.dumps(GOOD | {"height": "many"}), "received height = 'many'"),
        (
            json.dumps(
                GOOD
                | {"frames": 9, "strokes": [GOOD["strokes"][0] | {"tool": "set-depth", "frame": 1}]}
            ),
            "drawn on 9 frames",
        ),
        (
            json.dumps(
                GOOD | {"strokes": [GOOD["strokes"][0] | {"tool": "paint", "frame": "img9.png"}]}
            ),
            "of which there are 0",
        ),
        (
            json.dumps(
                GOOD | {"strokes": [GOOD["strokes"][0] | {"tool": "paint", "picture": "nowhere"}]}
            ),
            "neither a picture nor a result",
        ),
    ],
)
def test_a_wrong_document_is_refused_with_a_sentence(capsys, shots, tmp_path, text, words):
    (tmp_path / "strokes.json").write_text(text)
    done = varfocus(
        capsys, "depth", shots, "-o", tmp_path / "o", "--retouch", tmp_path / "strokes.json", *FAST
    )
    assert done.code in (2, 3)
    assert words in done.err
    assert "Traceback" not in done.err


def test_strokes_that_are_added_give_what_all_of_them_at_once_give(rng, tmp_path):
    result, _ = paintable(rng)
    made = [
        Stroke("paint", SQUARE, frame=1, feather=3),
        Stroke("smooth-depth", ((25, 20),), radius=9, sigma=2),
        Stroke("paint", ((12, 30), (30, 12)), radius=4, frame=2),
        Stroke("erase-depth", ((40, 30),), radius=5),
    ]
    step, pictures = result, 0
    for k in range(len(made)):
        step = step.retouched(strokes(*made[: k + 1], frames=4), consume=True)
        _ = step.fused, step.depth
        pictures += step.fused is not result.fused
    whole = result.retouched(strokes(*made, frames=4))
    for name in ("fused", "source", "depth", "confidence", "index"):
        np.testing.assert_array_equal(getattr(step, name), getattr(whole, name))
    assert pictures == 4
    assert (result.fused == 77).all()
    assert (step.retouched(None).fused == 77).all()


def test_a_saved_result_is_retouched_like_the_fresh_one(rng, tmp_path):
    scene = vf.simulate("steps", shape=(40, 50), n=5)
    fresh = vf.reconstruct(scene.stack, "classic", align="none", focus=[0, 2, 4, 8, 9], unit="um")
    fresh.save(tmp_path / "out")
    again = vf.Result.of_saved(load_result(tmp_path / "out"), fresh.stack, None)
    retouch = strokes(
        Stroke("paint", SQUARE, frame=4, feather=2),
        Stroke("set-depth", SQUARE, frame=2.5),
        frames=5,
    )
    one, other = fresh.retouched(retouch), again.retouched(retouch)
    for name in ("fused", "source", "depth", "confidence"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.index, other.index, atol=1e-4)
    records = [json.loads(json.dumps(r.record(timed=False))) for r in (one, other)]
    for record in records:
        record.pop("seconds")
    assert records[0] == records[1]


ODD_VALUES = (
    None,
    True,
    0,
    -1,
    10**400,
    1e300,
    "",
    "x\x1b" * 999,
    [],
    [[0, 10**400]] * 3,
    {"a": []},
)


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("tool", ["paint", "set-depth", "smooth-depth", "fill-depth"])
def test_a_document_with_any_value_in_any_place_is_read_or_refused_in_words(tool, value, tmp_path):
    stroke = {"tool": tool, "points": [[0, 0], [9, 0], [9, 9]], "radius": 3, "feather": 1}
    stroke |= {"paint": {"frame": 1}, "set-depth": {"frame": 1}, "smooth-depth": {"sigma": 2}}.get(
        tool, {}
    )
    good = strokes().as_data() | {"strokes": [stroke]}
    spoilt = [good | {key: value} for key in good]
    spoilt += [
        good | {"strokes": [stroke | {key: value}]} for key in (*stroke, "picture", "\x1b" * 999)
    ]
    path = tmp_path / "strokes.json"
    path.write_text(json.dumps(good))
    assert len(vf.read_strokes(path).strokes) == 1
    refused = []
    for document in (*spoilt, value, [value]):
        path.write_text(json.dumps(document))
        try:
            vf.read_strokes(path)
        except ParameterError as error:
            refused += str(error).splitlines()
    assert len(refused) > len(good)
    assert all(len(line) < 500 and line.isprintable() for line in refused)
