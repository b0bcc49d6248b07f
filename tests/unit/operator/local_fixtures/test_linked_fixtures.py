from pathlib import Path

import pytest
from sshload_operator.local.sshd import LocalRunError, linked_fixtures


def folders(tmp_path: Path) -> tuple[Path, Path]:
    made_in, home = tmp_path / "made", tmp_path / "home"
    (made_in / "sub").mkdir(parents=True)
    (made_in / "sub" / "file").write_text("fixture")
    home.mkdir()
    return made_in, home


def test_fixtures_are_seen_in_the_home_and_gone_afterwards(tmp_path: Path) -> None:
    made_in, home = folders(tmp_path)
    with linked_fixtures(["sub/file", "sub/other", "later"], made_in, home):
        assert (home / "sub" / "file").read_text() == "fixture"
        (made_in / "later").write_text("made later")
        assert (home / "later").read_text() == "made later"
    assert list(home.iterdir()) == []
    assert (made_in / "sub" / "file").exists()


def test_what_is_there_already_is_not_touched_and_the_others_go_again(tmp_path: Path) -> None:
    made_in, home = folders(tmp_path)
    (home / "sub").write_text("mine")
    with pytest.raises(LocalRunError, match="sub exists"), linked_fixtures(["a", "sub/file"], made_in, home):
        raise AssertionError("not to be reached")
    assert [path.name for path in home.iterdir()] == ["sub"]
    assert (home / "sub").read_text() == "mine"
