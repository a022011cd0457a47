"""Anything at all given to the functions of the public interface: a result, or words."""

import enum
import warnings
from pathlib import Path

import numpy as np
import pytest

import varfocus
from fuzz_api import ODD
from varfocus import steps
from varfocus.errors import (
    FocusPositionsError,
    InputError,
    InternalError,
    VarfocusError,
    VarfocusWarning,
)
from varfocus.surface.measure import level, profile
from varfocus.units import PixelSize, parse_length, parse_size

MAPS = tuple(np.full((24, 30), value) for value in (np.nan, np.inf, -1.0, 1e30, 1e300))
SCENE = varfocus.simulate("cone", shape=(24, 30), n=4)
FLAT = np.zeros((24, 30), np.float32)


class Liar:
    """Says that it is a path."""

    def __fspath__(self):
        return 3


class Word(str, enum.Enum):  # noqa: UP042
    """Words whose `str` is another."""

    METHOD = "paper"
    UNIT = "mm"


STRANGE = (
    *(b"\xff", float, np.str_("x"), np.array("x"), Liar(), *Word, lambda: None, iter([1, 2])),
    *(SCENE.frames[:, :0], SCENE.frames[..., :0], np.zeros((0, 3)), SCENE.frames.astype("c8")),
    *(np.ma.masked, np.ma.array(SCENE.frames, mask=SCENE.frames > 99), np.zeros(3, "M8[s]")),
)
"""Values of types that few think of."""


@pytest.fixture(scope="module")
def result():
    return varfocus.reconstruct(SCENE.stack, "classic")


def quick(**given):
    return varfocus.reconstruct(SCENE.stack, "classic", **given)


def of_folder(result):
    if not Path("saved").exists():
        result.save("saved", report=False)
    return varfocus.load_result("saved")


ENTRIES = {
    "reconstruct": lambda v, _: varfocus.reconstruct(v),
    "reconstruct method": lambda v, _: varfocus.reconstruct(SCENE.frames[:3, :4, :4], v),
    "reconstruct focus": lambda v, _: quick(focus=v),
    "reconstruct unit": lambda v, _: quick(focus=[1, 2, 3, 4], unit=v),
    "reconstruct threads": lambda v, _: quick(threads=v),
    "reconstruct max_memory": lambda v, _: quick(max_memory=v),
    "reconstruct progress": lambda v, _: quick(progress=v),
    "reconstruct_into folder": lambda v, _: varfocus.reconstruct_into(v, SCENE.stack, "classic"),
    "reconstruct_into": lambda v, _: varfocus.reconstruct_into("out", v),
    "read_stack": lambda v, _: varfocus.read_stack(v),
    "read_stack channel": lambda v, _: varfocus.read_stack("missing", channel=v, time=v),
    "load_result": lambda v, _: varfocus.load_result(v),
    "read_strokes": lambda v, _: varfocus.read_strokes(v),
    "simulate": lambda v, _: varfocus.simulate(v),
    "simulate shape": lambda v, _: varfocus.simulate("cone", shape=v, n=3),
    "batch.run": lambda v, _: varfocus.batch.run(v, "out"),
    "batch.run output": lambda v, _: varfocus.batch.run("missing", v),
    "align_frames": lambda v, _: steps.align_frames(v),
    "focus_volume": lambda v, _: steps.focus_volume(v),
    "focus_volume measure": lambda v, _: steps.focus_volume(SCENE.frames, v),
    "focus_volume window": lambda v, _: steps.focus_volume(SCENE.frames, window=v),
    "focus_index": lambda v, _: steps.focus_index(v),
    "fuse_frames": lambda v, _: steps.fuse_frames(v, FLAT),
    "fuse_frames index": lambda v, _: steps.fuse_frames(SCENE.frames, v),
    "fuse_frames front": lambda v, _: steps.fuse_frames(SCENE.frames, FLAT, front=v),
    "to_depth": lambda v, _: steps.to_depth(v, [1, 2, 3]),
    "to_depth focus": lambda v, _: steps.to_depth(FLAT, v),
    "with_pixel_size": lambda v, _: SCENE.stack.with_pixel_size(v),
    "with_focus": lambda v, _: SCENE.stack.with_focus(v, "mm"),
    "PixelSize": lambda v, _: PixelSize(v, v, "um"),
    "parse_length": lambda v, _: parse_length(v),
    "parse_size": lambda v, _: parse_size(v),
    "result.curve": lambda v, result: result.curve(v, 1),
    "result.retouched": lambda v, result: result.retouched(v),
    "result.fuse_channel": lambda v, result: result.fuse_channel(v),
    "saved.fuse_channel": lambda v, result: of_folder(result).fuse_channel(v),
    "result.save": lambda v, result: result.save(v, overwrite=True, report=False),
    "level": lambda v, _: level(FLAT, v),
    "level of": lambda v, _: level(v, 1),
    "profile of": lambda v, _: profile(v, (0, 0), (3, 3)),
    "profile from": lambda v, _: profile(FLAT, v, (3, 3)),
    "profile width": lambda v, _: profile(FLAT, (0, 0), (3, 3), width=v),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_any_value_gives_a_result_or_words(entry, result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "x" and "1" are good names for a folder
    for value in (*ODD, *MAPS, *STRANGE):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", VarfocusWarning)
            try:
                ENTRIES[entry](value, result)
            except VarfocusError as error:
                words = str(error).splitlines()
                if isinstance(error, InternalError) or not all(w.isprintable() for w in words):
                    pytest.fail(f"{value!r:.60}: {error}")


def test_what_a_mask_hides_is_never_taken_for_data():
    """NumPy forgets masks silently: frames need every pixel, unknown heights are left out."""
    hidden = np.zeros(SCENE.frames.shape, bool)
    assert varfocus.steps.focus_volume(np.ma.array(SCENE.frames, mask=hidden)).any()
    hidden[1, 2, 3] = True
    frames = np.ma.array(SCENE.frames, mask=hidden)
    for some in (frames, list(frames)):
        with pytest.raises(InputError, match="masked"):
            varfocus.reconstruct(some)
    with pytest.raises(FocusPositionsError):
        quick(focus=np.ma.array([1.0, 2, 3, 4], mask=[0, 1, 0, 0]))
    rows, columns = np.mgrid[:24, :30]
    tilted = np.ma.array(rows + 2.0 * columns, mask=rows < 3)
    tilted.data[:3] = 1e9
    flat = level(tilted, 1)
    assert np.isnan(flat[:3]).all()
    assert np.abs(flat[3:]).max() < 1e-9
    depth = steps.to_depth(np.ma.array(FLAT, mask=rows < 3), [1, 2, 3])
    assert np.isnan(depth[:3]).all()
    assert (depth[3:] == 1).all()


def test_a_word_may_be_a_member_of_an_enumeration():
    made = varfocus.reconstruct(
        SCENE.frames, Word.METHOD, degree=2, focus=[1, 2, 3, 4], unit=Word.UNIT
    )
    assert (made.params.method, made.unit) == ("paper", "mm")
