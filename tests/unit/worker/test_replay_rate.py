"""A trace that begins more in a second than maxRate is refused before the load, by what will really be played."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gevent
import pytest
from run_configs import arrivals, run_config
from sshload_contract.client import Auth
from sshload_contract.load import ReplayLoad, Search, TraceRef
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.outcomes import GeneratorFaultError
from sshload_worker.pacing.replay import read_checked_trace
from sshload_worker.pacing.share import TrialOrder

NOWHERE = Endpoint("localhost", 22, "nobody", Auth.PUBLICKEY, "", "", "", "", "")


def config(folder: Path, offsets: list[float], max_rate: float, **changes: Any) -> RunConfig:
    path = folder / "trace.txt"
    path.write_text("# lasts: 100\n" + "\n".join(map(str, offsets)))
    load = ReplayLoad(TraceRef("monday", "trace.txt"), 90.0, 1.0, 1.0, max_rate, 100, 1, str(path))
    return replace(run_config(NOWHERE, replace(load, **changes)), warm_up_s=5.0)


def test_the_busiest_second_that_is_played_decides(tmp_path: Path) -> None:
    bunch = [10.0, 13.0, 13.2, 13.4, 18.0]
    assert read_checked_trace(config(tmp_path, bunch, max_rate=3)) is not None
    with pytest.raises(GeneratorFaultError, match=r"more than 2 iterations \(maxRate\) in the second from 13 s on"):
        read_checked_trace(config(tmp_path, bunch, max_rate=2))
    assert read_checked_trace(config(tmp_path, [*bunch, *([97.0] * 50)], max_rate=3)) is not None


def test_a_second_begins_with_an_arrival_and_ends_before_the_one_a_second_later(tmp_path: Path) -> None:
    assert read_checked_trace(config(tmp_path, [10.0, 11.0, 12.0, 13.5], max_rate=1)) is not None
    with pytest.raises(GeneratorFaultError, match="from 11 s on"):
        read_checked_trace(config(tmp_path, [10.0, 11.0, 11.999], max_rate=1))


def test_other_greenlets_have_their_turn_while_a_long_trace_is_checked(tmp_path: Path) -> None:
    turns: list[None] = []
    played = config(tmp_path, [number / 200 for number in range(18_000)], max_rate=1_000)
    others = [gevent.spawn(turns.append, None)]
    others[0].link(lambda _: others.append(gevent.spawn(turns.append, None)))
    assert read_checked_trace(played) is not None
    assert len(turns) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(b"# lasts: 100\n\xff", "the trace trace.txt cannot be read: .*utf-8", id="no text"),
        pytest.param(b"# lasts: 100\nsoon", "the trace trace.txt, line 2", id="no number"),
        pytest.param(b"# lasts: 60\n1.0", "lasts 60 s", id="shorter than what is played of it"),
    ],
)
def test_a_trace_that_cannot_be_played_is_refused_with_what_is_wrong(tmp_path: Path, text: bytes, problem: str) -> None:
    played = config(tmp_path, [], max_rate=5)
    (tmp_path / "trace.txt").write_bytes(text)
    with pytest.raises(GeneratorFaultError, match=problem):
        read_checked_trace(played)


def test_a_trace_that_is_not_there_is_told(tmp_path: Path) -> None:
    played = config(tmp_path, [], max_rate=5)
    (tmp_path / "trace.txt").unlink()
    with pytest.raises(GeneratorFaultError, match=r"the trace trace.txt cannot be read: .*No such file"):
        read_checked_trace(played)


def test_what_replays_no_trace_reads_none_and_has_the_arrivals_of_its_load() -> None:
    played = run_config(NOWHERE, arrivals(2, 2))
    assert read_checked_trace(played) is None
    assert list(played.load.replayed(None, played.warm_up_s)) == [0.0, 0.5, 1.0, 1.5]


def test_a_trial_of_a_search_has_its_amount_and_a_run_without_a_search_its_configured_load() -> None:
    run = run_config(NOWHERE, arrivals(2, 2))
    assert TrialOrder(0, 7.0).config(run) == run
    searched = replace(run, load=Search(run.trial_load, most=9, precision=0.05, confirm=2, budget_s=300.0))
    assert TrialOrder(3, 7.0).config(searched) == replace(run, load=run.trial_load.at(7.0)) != run


def test_copies_of_an_arrival_count_where_chance_puts_them(tmp_path: Path) -> None:
    even = [number / 20 for number in range(1_800)]
    played = config(tmp_path, even, max_rate=2, amplification=0.1)
    with pytest.raises(GeneratorFaultError, match="maxRate"):
        read_checked_trace(played)
    assert read_checked_trace(config(tmp_path, [0.0, 50.0], max_rate=10, amplification=20)) is not None


def test_a_search_is_checked_at_its_most(tmp_path: Path) -> None:
    fixed = config(tmp_path, [1.0, 1.1, 1.2], max_rate=5)
    searched = replace(fixed, load=Search(fixed.trial_load, 4, 0.05, 2, 1_000.0))
    with pytest.raises(GeneratorFaultError, match="at 4 times the recorded arrivals"):
        read_checked_trace(searched)


def test_the_trace_that_was_checked_is_the_one_that_is_played(tmp_path: Path) -> None:
    played = config(tmp_path, [1.0, 2.0], max_rate=5)
    trace = read_checked_trace(played)
    (tmp_path / "trace.txt").write_text("0\n" * 1_000)
    assert list(played.load.replayed(trace, played.warm_up_s)) == [1.0, 2.0]
