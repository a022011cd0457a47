"""One source, several instruction sets: the same bits, and a variable that chooses among them."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from test_every_kernel import RUNS, unsteady

from varfocus import engine, reconstruct, simulate
from varfocus.errors import ParameterError, VarfocusWarning


def test_the_one_that_was_asked_for_runs(instruction_set):
    assert engine.instruction_set() == instruction_set
    assert engine.kernels.lanes() in (4, 8, 16)
    assert engine.instruction_sets()[0] == "baseline"


def results(options, frames):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VarfocusWarning)
        found = reconstruct(frames, **options)
    return {"depth": found.depth, "fused": found.fused, "confidence": found.confidence}


@pytest.fixture(scope="session")
def with_baseline():
    """Results of the narrowest set, by options and type, each computed once."""
    known = {}

    def look_up(key, options, frames):
        if key not in known:
            with engine.use_instruction_set("baseline"):
                known[key] = results(options, frames)
        return known[key]

    return look_up


STACKS = {
    "uint8": unsteady((61, 75), 7),
    "uint16": unsteady((61, 75), 7).astype(np.uint16) * 200,
    "float32": unsteady((61, 75), 7).astype(np.float32) / 255,
    "many frames": simulate("steps", shape=(45, 60), n=50).frames,
}


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("number", range(len(RUNS)))
def test_every_set_gives_the_same_bits(stack, number, with_baseline):
    """No product is contracted with a sum, and no sum depends on the width of a vector."""
    options, frames = RUNS[number], STACKS[stack]
    expected = with_baseline((stack, number), options, frames)
    for name, found in results(options, frames).items():
        np.testing.assert_array_equal(found, expected[name], err_msg=name)


def in_a_new_process(word):
    script = "from varfocus import engine; print(engine.instruction_set())"
    environment = os.environ | {"VARFOCUS_ISA": word}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("word", ["baseline", ""])
def test_the_environment_chooses(word):
    widest = [name for name in engine.instruction_sets() if "wide" not in name][-1]
    assert in_a_new_process(word).stdout.strip() == (word or widest)


def test_a_word_that_means_nothing_is_refused_with_those_that_do():
    error = in_a_new_process("mmx").stderr
    assert "ParameterError: received VARFOCUS_ISA = 'mmx'\nexpected one of baseline" in error
    with pytest.raises(ParameterError, match="expected one of baseline"):
        engine.use_instruction_set("mmx").__enter__()


def test_a_set_that_this_machine_does_not_have_is_refused():
    missing = set(engine.kernels.compiled_instruction_sets()) - set(engine.instruction_sets())
    for word in missing:
        error = in_a_new_process(word).stderr
        assert f"received VARFOCUS_ISA = '{word}', which this machine does not have" in error
