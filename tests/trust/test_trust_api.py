"""Random stacks × parameters × types through every way in. `make nightly` tries 5000."""

import fuzz_api
from fuzzing import fuzz


def test_two_hundred_random_cases():
    report = fuzz(200, seed=8, script=fuzz_api.__file__)
    assert report.findings == {}
    assert report.cases == 200
    kinds = {kind for kind, _ in report.counts}
    assert kinds == {way.__name__ for _, way in fuzz_api.WAYS}
    outcomes = ("result", "twice", "saved", "retouched")
    good = sum(report.counts["by_python", outcome] for outcome in outcomes)
    assert good > 30  # most of what is reasonable gives a result, or nothing would be tested
