"""Work that is shared out among threads."""

from __future__ import annotations

import threading

import pytest

from varfocus import engine


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_what_comes_of_work_side_by_side_is_in_order(threads):
    with engine.use_threads(threads):
        assert engine.side_by_side(lambda k: k * k, range(20)) == [k * k for k in range(20)]
        assert engine.side_by_side(str, []) == []


def test_threads_side_by_side_use_one_each():
    met = threading.Barrier(2, timeout=20.0)  # both must be at work at once

    def work(_: int) -> int:
        met.wait()
        return engine.thread_count()

    with engine.use_threads(2):
        assert engine.side_by_side(work, [0, 1]) == [1, 1]
        # A single item has all threads for itself.
        assert engine.side_by_side(lambda _: engine.thread_count(), [0]) == [2]
        assert engine.thread_count() == 2


def test_what_work_side_by_side_raises_is_raised():
    def work(k: int) -> None:
        if k == 3:
            raise KeyError(k)

    with engine.use_threads(2), pytest.raises(KeyError):
        engine.side_by_side(work, range(5))
