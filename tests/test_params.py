"""Parameters: one flat list of names, checked where they enter."""

import json
import math
from dataclasses import fields

import pytest

from varfocus.errors import ParameterError, UsageError
from varfocus.params import (
    COMMON_STAGES,
    STAGES,
    STAGES_OF_METHOD,
    ClassicParams,
    ContrastParams,
    CurveParams,
    Params,
    SolverParams,
    StartParams,
)

OTHER_VALUES = {
    "normalisation": "absolute",
    "epsilon": 0.2,
    "degree": 6,
    "start_window": 5,
    "start_blur": 7,
    "alpha": 0.5,
    "solver": "admm",
    "iterations": 17,
    "tau": 2.0,
    "lam": 0.5,
    "growth": 1.01,
    "tolerance": 1e-3,
    "regulariser": "huber",
    "huber_slope": 0.2,
    "tgv_ratio": 3.0,
    "bregman": 2,
    "window": 41,
    "guided": 17,
    "guided_edge": 0.1,
    "median": 11,
    "tv_weight": 0.4,
    "gauss_step": 1,
    "smoothness": 2.0,
    "coordinate": "reciprocal",
    "unknown": "nan",
    "edges": "off",
    "reblur": "off",
    "support": 1.5,
    "coarse_blur": 1.3,
    "slope_penalty": 2.0,
    "jump_penalty": 1.0,
    "cut": 1.0,
    "sharper": 2.0,
    "front": 1,
    "moving": "one-frame",
    "align": "affine",
    "reference": 2,
    "border": "mask",
    "exposure": "none",
    "auto_order": True,
    "transforms_from": "earlier/run.json",
    "crop": "10,20,300,200",
    "mask": "mask.png",
    "retouch": "strokes.json",
    "measure": "tenengrad",
}


def test_every_name_belongs_to_one_stage_and_is_tried_below():
    names = [f.name for stage in STAGES.values() for f in fields(stage)]
    assert len(set(names)) == len(names)
    assert set(names) == set(OTHER_VALUES)


def test_the_defaults_are_the_paper_s():
    params = Params("paper")
    assert Params().method == "auto"
    assert params.curve == CurveParams(degree=8)
    assert params.start == StartParams(start_window=15, start_blur=21)
    assert params.solve == SolverParams(
        alpha=1 / 8, solver="pyramid", iterations=400, tau=8.0, lam=1.0, growth=1.02
    )


def test_auto_means_the_method_whose_parameters_are_given():
    assert Params("auto").method == "auto"
    assert Params.from_keywords("auto", smoothness=2.0).method == "auto"
    assert Params.from_keywords("auto", alpha=1 / 4).method == "paper"
    assert Params.from_keywords("auto", window=41).method == "classic"
    with pytest.raises(ParameterError, match="with method 'auto'"):
        Params.from_keywords("auto", alpha=1 / 4, window=41)


@pytest.mark.parametrize("method", ["robust", "paper", "classic"])
def test_every_parameter_is_reachable_by_keyword(method):
    stages = (*STAGES_OF_METHOD[method], *COMMON_STAGES)
    for stage in stages:
        for f in fields(STAGES[stage]):
            params = Params.from_keywords(method, **{f.name: OTHER_VALUES[f.name]})
            assert getattr(getattr(params, stage), f.name) == OTHER_VALUES[f.name]
            assert params != Params(method)


@pytest.mark.parametrize("method", ["paper", "classic"])
def test_keywords_survive_a_round_trip_through_json(method):
    stages = (*STAGES_OF_METHOD[method], *COMMON_STAGES)
    names = [f.name for stage in stages for f in fields(STAGES[stage])]
    params = Params.from_keywords(method, **{name: OTHER_VALUES[name] for name in names})
    flat = params.as_keywords()
    assert set(flat) == {"method", *names}
    assert Params.from_keywords(**json.loads(json.dumps(flat))) == params
    assert Params.from_keywords(**Params(method).as_keywords()) == Params(method)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("alpa", "alpha"), ("iteration", "iterations"), ("start_blurr", "start_blur")],
)
def test_unknown_names_suggest_the_close_one(typed, meant):
    with pytest.raises(ParameterError, match=f"Did you mean '{meant}'") as caught:
        Params.from_keywords(**{typed: 1})
    assert repr(typed) in caught.value.received
    assert all(name in caught.value.expected for name in OTHER_VALUES)


def test_unknown_names_without_a_close_one_suggest_nothing():
    with pytest.raises(ParameterError, match="unknown parameter 'zzz'") as caught:
        Params.from_keywords(zzz=1)
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "owner", "name"),
    [("paper", "classic", "window"), ("classic", "paper", "alpha"), ("classic", "paper", "degree")],
)
def test_parameters_of_another_method_are_refused(method, owner, name):
    with pytest.raises(ParameterError, match=f"'{name}' belongs to '{owner}'"):
        Params.from_keywords(method, **{name: OTHER_VALUES[name]})


def test_unknown_method():
    with pytest.raises(ParameterError, match=r"'robustt'.*\n.*'paper', 'classic'"):
        Params.from_keywords("robustt")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", -0.1),
        ("alpha", math.nan),
        ("alpha", math.inf),
        ("alpha", "much"),
        ("alpha", None),
        ("solver", "magic"),
        ("iterations", 0),
        ("tau", 0.0),
        ("lam", -1.0),
        ("growth", 0.99),
        ("tolerance", -1e-9),
        ("degree", 1),
        ("start_window", 4),
        ("start_blur", 0),
        ("normalisation", "sometimes"),
        ("epsilon", 0.0),
    ],
)
def test_values_out_of_range(name, value):
    with pytest.raises(ParameterError, match=f"received {name} = ") as caught:
        Params.from_keywords("paper", **{name: value})
    assert repr(value) in caught.value.received
    assert caught.value.expected.startswith("expected")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window", 8),
        ("window", -1),
        ("window", 9.5),
        ("median", 2),
        ("tv_weight", -1.0),
        ("gauss_step", 0),
    ],
)
def test_classic_values_out_of_range(name, value):
    with pytest.raises(ParameterError, match=f"received {name} = "):
        Params.from_keywords("classic", **{name: value})


def test_a_parameter_error_is_a_usage_error_and_a_value_error():
    assert issubclass(ParameterError, UsageError)
    assert issubclass(ParameterError, ValueError)
    assert ParameterError("x").exit_code == 2


def test_epsilon_has_a_default_for_each_normalisation():
    assert ContrastParams("relative").resolved_epsilon == 1.0
    assert ContrastParams("absolute").resolved_epsilon == 0.3
    assert ContrastParams("none").resolved_epsilon == 0.0
    assert ContrastParams("absolute", 0.1).resolved_epsilon == 0.1


def test_parameters_cannot_be_changed_after_they_were_checked():
    with pytest.raises(AttributeError):
        ClassicParams().window = 8
