"""A load with several stages says of each what it was, with a real sshd."""

from pathlib import Path

from local_cli import measured, write_test

ARRIVALS = {"arrivals": {"stages": [{"rate": 4, "duration": "2s"}, {"rate": 16, "duration": "3s"}]}}
USERS = {"users": {"stages": [{"users": 1, "duration": "2s"}, {"users": 3, "toUsers": 1, "duration": "2s"}]}}


def test_arrivals_are_counted_in_the_stage_in_which_they_were_due(tmp_path: Path) -> None:
    ended = measured(write_test(tmp_path, load=ARRIVALS, warmUp="1s"))
    results = ended.status["results"]
    first, second = results["stages"]
    assert (first["stage"], first["iterations"], first["offeredRate"], first["durationSeconds"]) == (1, 8, 4.0, 2.0)
    assert (second["stage"], second["iterations"], second["offeredRate"], second["durationSeconds"]) == (
        2,
        48,
        16.0,
        3.0,
    )
    assert first["iterations"] + second["iterations"] == results["iterations"]


def test_users_are_said_of_each_stage_and_printed(tmp_path: Path) -> None:
    ended = measured(write_test(tmp_path, load=USERS), output="table")
    lines = ended.out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.split()[:2] == ["stage", "users"])
    assert [line.split()[0] for line in lines[head + 1 : head + 3]] == ["1", "2"]
    assert "3 to 1" in lines[head + 2]
