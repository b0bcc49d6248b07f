import os
import pwd
from pathlib import Path

import pytest
from sshload_operator.local import sshd as local_sshd
from sshload_operator.local.sshd import (
    LocalRunError,
    LocalSshd,
    current_user,
    installed_sshd,
    user_who_logs_in,
    without_unknown_directives,
)

CONFIG = "UseDNS no\nPerSourcePenalties no\nMaxStartups 10:30:100\n"


def test_an_sshd_without_penalties_is_not_asked_to_leave_them_off() -> None:
    kept, left_out = without_unknown_directives(CONFIG, (9, 2))
    assert kept == "UseDNS no\nMaxStartups 10:30:100\n"
    assert left_out == ("PerSourcePenalties no",)


@pytest.mark.parametrize("version", [pytest.param((9, 8), id="9.8"), pytest.param((10, 0), id="10.0")])
def test_an_sshd_with_penalties_is_asked_to_leave_them_off(version: tuple[int, int]) -> None:
    assert without_unknown_directives(CONFIG, version) == (CONFIG, ())


def test_penalties_that_were_asked_for_are_never_dropped() -> None:
    asked = "PerSourcePenalties authfail:5s\n"
    assert without_unknown_directives(asked, (9, 2)) == (asked, ())


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85"])
def test_no_character_of_a_value_becomes_the_end_of_its_line(end: str) -> None:
    """A value of extraConfig may have it, and sshd takes it as any other; a new line would be a directive."""
    asked = f"Banner none{end}Include /etc/passwd\n"
    assert without_unknown_directives(asked, (9, 2)) == (asked, ())


def test_this_machines_sshd_tells_its_name_and_version() -> None:
    sshd = installed_sshd()
    assert sshd.name.startswith(f"OpenSSH_{sshd.version[0]}.{sshd.version[1]}")


def fake_sshd(folder: Path, words: str) -> Path:
    path = folder / "sshd"
    path.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    path.chmod(0o755)
    return path


def test_an_old_sshd_that_knows_no_option_for_its_version_tells_it_with_its_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "unknown option -- V\nOpenSSH_8.9p1 Ubuntu-3, OpenSSL 3.0.2\nusage: sshd [-46DdeiqTt]"
    monkeypatch.setattr(local_sshd, "SSHD_PATH", fake_sshd(tmp_path, words))
    assert installed_sshd() == LocalSshd(name="OpenSSH_8.9p1 Ubuntu-3", version=(8, 9))


def test_a_machine_without_sshd_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_sshd, "SSHD_PATH", tmp_path / "sshd")
    with pytest.raises(LocalRunError, match="apt-get install openssh-server"):
        installed_sshd()


def test_another_kind_of_sshd_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_sshd, "SSHD_PATH", fake_sshd(tmp_path, "Dropbear v2022.83"))
    with pytest.raises(LocalRunError, match="needs OpenSSH"):
        installed_sshd()


def be_root(password: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow = folder / "shadow"
    shadow.write_text(f"daemon:!:1::::::\nroot:{password}:1::::::\n")
    monkeypatch.setattr(local_sshd, "_SHADOW_PATH", shadow)
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_root_is_refused_where_its_account_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be_root("!", tmp_path, monkeypatch)
    with pytest.raises(LocalRunError, match="without sudo"):
        user_who_logs_in()


@pytest.mark.parametrize("password", [pytest.param("*", id="no password"), pytest.param("$y$j9T$", id="a password")])
def test_root_is_taken_where_its_account_is_open(
    password: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_root(password, tmp_path, monkeypatch)
    assert user_who_logs_in().pw_uid == 0


def test_a_user_without_a_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = pwd.struct_passwd(("nobody", "x", 65534, 65534, "", str(tmp_path / "nowhere"), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: nobody)
    with pytest.raises(LocalRunError, match="nowhere"):
        current_user()
