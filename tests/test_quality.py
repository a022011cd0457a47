"""No method becomes less accurate: see `record_quality` for how to move the bounds."""

from __future__ import annotations

import pytest

from record_quality import FEW_PIXELS, METHOD_NAMES, SCENES, measure, recorded, regressions


@pytest.mark.parametrize("name", SCENES)
def test_errors_are_no_larger_than_recorded_and_robust_beats_the_others(name):
    found = measure(name)
    assert regressions(found, recorded()[name]) == []
    for other in ("paper", "classic"):
        assert found["robust"]["rmse"] < found[other]["rmse"]
        assert found["robust"]["bad"] <= found[other]["bad"]


def test_only_what_is_worse_is_a_regression():
    record = {"robust": {"rmse": 0.5, "bad": 0.0}}
    assert regressions({"robust": {"rmse": 0.1, "bad": 0.0}}, record) == []
    assert regressions({"robust": {"rmse": 0.505, "bad": FEW_PIXELS}}, record) == []
    assert regressions({"robust": {"rmse": 0.52, "bad": 0.0}}, record) == [
        "robust rmse: 0.50000 → 0.52000"
    ]
    assert len(regressions({"robust": {"rmse": 0.52, "bad": 0.002}}, record)) == 2


def test_every_scene_and_method_is_recorded():
    record = recorded()
    assert set(record) == set(SCENES)
    assert all(set(methods) == set(METHOD_NAMES) for methods in record.values())
