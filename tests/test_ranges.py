"""Every field of every parameter class: inside its bounds it works, outside it is refused."""

import inspect
import itertools
import math
import re
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Annotated, get_args, get_origin

import numpy as np
import pytest

import varfocus
from command_line import varfocus as command
from varfocus.app.schema import methods
from varfocus.batch.manifest import read_manifest
from varfocus.errors import ParameterError, VarfocusError
from varfocus.export.products import Calibration, Shape
from varfocus.io.calibration import Focus
from varfocus.job import Job
from varfocus.params import STAGES, STAGES_OF_METHOD, Limits, Params, Resources
from varfocus.ranges import LONGEST_PATH, Checked, Range, Text, hints_of

CLASSES = [*STAGES.values(), Params, Resources, Limits, Focus, Calibration, Shape]
ODD_VALUES = [
    *(10**400, -(10**400), 2**63 - 1, 2**63, -(2**63), 10**30, 2**31, -1, 1e300, -1e300, 1e-300),
    *(math.nan, math.inf, -math.inf, Fraction(10**400, 3), 1 + 2j, b"1", bytearray(3)),
    *("", "\0", "x" * 100_000, "\x1b[2J", "\ud800", "٣", "1e400", "9" * 5000),
    *([], [1], (1, 2), {}, {"a": 1}, set(), object(), type, len, lambda: None, ..., NotImplemented),
    *(np.zeros(3), np.zeros(0), np.array(1.0), np.array([["a"]]), np.float64("nan"), np.bool_(1)),
    *(np.uint64(2**64 - 1), np.int8(-1), np.float16("inf"), np.str_("tv"), np.datetime64("NaT")),
]
"""Nearly anything that a program can pass, or a JSON document hold."""


def bounds(hint):
    """Return the range or alphabet of an annotation, if it has one."""
    return get_args(hint)[1] if get_origin(hint) is Annotated else None


def fields_with(kind):
    return [
        pytest.param(stage, name, bounds(hint), id=f"{stage.__name__}.{name}")
        for stage in CLASSES
        for name, hint in hints_of(stage).items()
        if isinstance(bounds(hint), kind)
    ]


def test_every_parameter_class_is_checked_and_every_number_has_bounds():
    import varfocus.params as module

    found = [each for _, each in inspect.getmembers(module, inspect.isclass)]
    here = {each for each in found if each.__module__ == module.__name__}
    assert here <= set(CLASSES)
    for stage in set(CLASSES) - {STAGES["sharpness"]}:  # which also takes functions
        assert issubclass(stage, Checked)
    for stage in CLASSES:
        for hint in hints_of(stage).values():
            inner = get_args(hint)[0] if get_origin(hint) is Annotated else hint
            if {int, float} & {inner, *get_args(inner)}:
                assert isinstance(bounds(hint), Range), (stage, hint)


NEEDED = {"print_size": {"solid": True}}
"""What a parameter needs beside it to mean anything."""


@pytest.mark.parametrize(("stage", "name", "within"), fields_with(Range))
def test_a_number_is_taken_up_to_its_bounds_and_not_beyond(stage, name, within):
    whole = isinstance(within.low, int)
    beside = NEEDED.get(name, {})
    for bound, outward in ((within.low, -1), (within.high, 1)):
        assert getattr(stage(**{name: bound}, **beside), name) == bound
        if math.isinf(bound):
            continue
        beyond = (
            [bound + outward, bound + outward * 2**62, outward * 10**400]
            if whole
            else [math.nextafter(bound, outward * math.inf), outward * math.inf, outward * 10**400]
        )
        for value in beyond:
            if value == 0 and within.zero:
                continue
            with pytest.raises(ParameterError) as caught:
                stage(**{name: value}, **beside)
            assert caught.value.received.startswith(f"received {name} = ")
            assert caught.value.expected == within.words("whole number" if whole else "number")
    if within.odd:
        with pytest.raises(ParameterError, match="odd"):
            stage(**{name: within.low + 1})


@pytest.mark.parametrize(
    ("stage", "name"),
    [(stage, field.name) for stage in CLASSES for field in fields(stage)],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_a_value_of_any_type_is_taken_as_plain_data_or_refused(stage, name):
    for value in [*ODD_VALUES, True, None]:
        kept = refused(stage, name, value)
        if kept is None:
            continue
        plain = (int, float, str, bool, *CLASSES)
        assert type(kept) in plain or isinstance(kept, Path) or name == "measure"
        assert not isinstance(kept, float) or not math.isnan(kept)


def refused(stage, name, value):
    """Return what a field keeps of a value; None if it is refused, in words that can be printed."""
    try:
        return getattr(stage(**{name: value}), name)
    except ParameterError as error:
        words = error
    lines = str(words).splitlines()
    assert 2 <= len(lines) <= 3
    assert all(len(line) < 600 and line.isprintable() for line in lines)
    assert words.received.startswith("received ")
    return None


@pytest.mark.parametrize(("stage", "name", "within"), fields_with(Text))
def test_a_name_is_short_and_printable(stage, name, within):
    assert getattr(stage(**{name: "µ" * within.longest}), name)
    for text in ("µ" * (within.longest + 1), "a\nb", "\x1b[2J", "\u202e"):
        with pytest.raises(ParameterError, match=f"received {name} = "):
            stage(**{name: text})


def test_a_path_is_at_most_as_long_as_the_system_takes():
    assert Params.from_keywords(mask="x" * LONGEST_PATH).area.mask
    with pytest.raises(ParameterError, match="at most 4096 letters"):
        Params.from_keywords(mask="x" * (LONGEST_PATH + 1))


TINY = varfocus.simulate("cone", shape=(9, 11), n=4, noise=0.2).frames


def extremes():
    """Every number at its bounds; those that only prolong the work come one at a time, low."""
    slow = {"iterations", "bregman"}
    for method, stages in STAGES_OF_METHOD.items():
        if method != "auto":
            for stage, end in itertools.product(stages, ("low", "high")):
                for name, hint in hints_of(STAGES[stage]).items():
                    within = bounds(hint)
                    if isinstance(within, Range) and not (name in slow and end == "high"):
                        yield pytest.param(
                            method, {name: getattr(within, end)}, id=f"{method}-{name}-{end}"
                        )


@pytest.mark.filterwarnings("ignore::varfocus.errors.VarfocusWarning")
@pytest.mark.parametrize(("method", "values"), [*extremes()])
def test_the_arithmetic_takes_every_bound(method, values):
    quick = {"iterations": 6} if method == "paper" else {}
    if "huber_slope" in values:
        quick["regulariser"] = "huber"
    if "tgv_ratio" in values:
        quick["regulariser"] = "tgv"
    if values.get("gauss_step", 1) > 1:  # needs as many frames
        with pytest.raises(ParameterError, match="for 4 frames"):
            varfocus.reconstruct(TINY, method, **values)
        return
    result = varfocus.reconstruct(TINY, method, align="none", threads=1, **quick | values)
    assert np.isfinite(result.depth).all()
    assert (result.index >= 0).all()
    assert (result.index <= 3).all()
    assert (result.confidence >= 0).all()
    assert (result.confidence <= 1).all()


OUT = [("smoothness", 1e300), ("alpha", 1e39), ("alpha", 1e-300), ("epsilon", 10**30)]
OUT += [("start_window", 2**31 + 1), ("start_window", 2**63 - 1), ("iterations", 10**6)]


@pytest.mark.parametrize(("name", "value"), OUT)
def test_the_same_bounds_hold_wherever_a_value_comes_from(name, value, tmp_path, capsys):
    with pytest.raises(ParameterError) as by_keyword:
        varfocus.reconstruct(TINY, **{name: value})
    record = tmp_path / "run.json"
    record.write_text(f'{{"parameters": {{"{name}": {value}}}}}')
    manifest = tmp_path / "manifest.csv"
    manifest.write_text(f"stack,{name}\nshots,{value}\n")
    flag = f"--{name.replace('_', '-')}"
    for arguments in (["--params", str(record)], [flag, str(value)]):
        done = command(capsys, "depth", tmp_path, "-o", tmp_path / "out", *arguments)
        assert done.code == 2
        assert by_keyword.value.expected in done.err
    with pytest.raises(VarfocusError, match=re.escape(by_keyword.value.expected)):
        read_manifest(manifest, Job(()))


def test_the_page_offers_what_is_checked():
    for method in methods():
        for parameter in method["parameters"]:
            stage = next(s for s in STAGES.values() if parameter["name"] in hints_of(s))
            within = bounds(hints_of(stage)[parameter["name"]])
            if isinstance(within, Range):
                assert parameter["default"] is None or parameter["default"] in within
