"""Random stacks × parameters × types through every way in. `make nightly` tries 5000."""

import fuzz_api
from fuzzing import fuzz


def test_two_hundred_random_cases():
    report = fuzz(200, seed=8, script=fuzz_api.__file__)
    assert report.findings == {}
    assert report.cases == 200
    kinds = {kind for kind, _ in report.counts}
    assert kinds == {way.__name__ for _, way in fuzz_api.WAYS}
    # Half of the cases are wild; most of the others give a result, or nothing would be tested.
    outcomes = ("result", "twice", "saved", "retouched")
    good = sum(report.counts["by_python", outcome] for outcome in outcomes)
    assert good > 0.4 * sum(n for (kind, _), n in report.counts.items() if kind == "by_python")
    done = {outcome for kind, outcome in report.counts if kind == "any_command"}
    assert len([outcome for outcome in done if outcome.endswith("done")]) > 3
