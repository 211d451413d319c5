from __future__ import annotations

import pytest

from core.run.cancel import Cancelled, CancelToken


def test_a_cancel_calls_whoever_runs_and_no_one_afterwards() -> None:
    token, stopped = CancelToken(), []
    with token.calling(lambda: stopped.append("first")):
        pass
    with token.calling(lambda: stopped.append("second")):
        token.cancel()
        assert stopped == ["second"]
        token.cancel()
    token.cancel()
    assert stopped == ["second", "second"]


def test_nothing_begins_after_a_cancel() -> None:
    token = CancelToken()
    token.check()
    token.cancel()
    with pytest.raises(Cancelled), token.calling(lambda: None):
        pytest.fail("went on")
    with pytest.raises(Cancelled):
        token.check()
