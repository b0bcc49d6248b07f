"""The accounts of a run have ids that nobody on the machine has, not even for containers of their own."""

from pathlib import Path

import pytest
from sshload_contract.population import Population
from sshload_target.system import accounts
from sshload_target.system.accounts import number_accounts

THREE = Population(b"0" * 32, 3)


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An /etc in which two people have accounts, on a machine that has all ids."""
    (tmp_path / "passwd").write_text("root:x:0:0::/root:/bin/sh\nann:x:100002:100002::/home/ann:/bin/sh\n")
    (tmp_path / "uid_map").write_text("         0          0 4294967295\n")
    monkeypatch.setattr(accounts, "ETC", tmp_path)
    monkeypatch.setattr(accounts, "_ID_MAP", tmp_path / "uid_map")
    return tmp_path


def numbers() -> list[int]:
    return [account.number for account in number_accounts(THREE)]


@pytest.mark.usefixtures("etc")
def test_ids_of_accounts_are_left_out() -> None:
    assert numbers() == [100_001, 100_003, 100_004]


@pytest.mark.parametrize("file", ["subuid", "subgid"])
def test_ids_for_the_containers_of_a_user_are_left_out(etc: Path, file: str) -> None:
    """Their files are on the machine, and a session of the run would own them."""
    (etc / file).write_text("# as useradd writes it\nann:100000:65536\nbob:165536:65536\nbad:x:1\n\n")
    assert numbers() == [231_072, 231_073, 231_074]


def test_where_too_few_ids_are_mapped_they_are_taken_from_lower_ones(etc: Path) -> None:
    (etc / "subuid").write_text("ann:100000:65536\n")
    (etc / "uid_map").write_text("0 131072 65536\n")
    assert numbers() == [2_001, 2_002, 2_003]
