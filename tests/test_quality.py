"""The accuracy of every method is pinned: see `record_quality` for how to move the pins."""

from __future__ import annotations

import pytest

from record_quality import METHOD_NAMES, SCENES, measure, recorded

TOLERANCE = 0.02
"""Between machines; two engines and any number of threads agree far better."""

FEW_PIXELS = 0.001
"""Shares of bad pixels this close are equal: some ten pixels of these scenes."""


@pytest.mark.parametrize("name", SCENES)
def test_errors_are_as_recorded_and_robust_beats_the_others(name):
    expected, found = recorded()[name], measure(name)
    for method in METHOD_NAMES:
        error, bad = found[method]["rmse"], found[method]["bad"]
        assert error == pytest.approx(expected[method]["rmse"], rel=TOLERANCE), method
        assert bad == pytest.approx(expected[method]["bad"], rel=TOLERANCE, abs=FEW_PIXELS), method
    for other in ("paper", "classic"):
        assert found["robust"]["rmse"] < found[other]["rmse"]
        assert found["robust"]["bad"] <= found[other]["bad"]


def test_every_scene_and_method_is_recorded():
    record = recorded()
    assert set(record) == set(SCENES)
    assert all(set(methods) == set(METHOD_NAMES) for methods in record.values())
