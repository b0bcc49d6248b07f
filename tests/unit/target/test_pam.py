"""The parts of a PAM stack are switched where they are, in each file of the stack, and nothing else changes."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
from sshload_contract.wire.target import PamSwitches
from sshload_target.errors import ConfigRefusedError
from sshload_target.system import pam

AS_IT_IS = PamSwitches(**dict.fromkeys((field.name for field in fields(PamSwitches)), None))
DEBIAN = """# PAM configuration
@include common-auth
account    required     pam_nologin.so
@include common-session
session    optional     pam_motd.so  motd=/run/motd.dynamic
session    optional     pam_motd.so noupdate
# session  optional     pam_mail.so
session    required     pam_limits.so
"""
COMMON_SESSION = "session required pam_unix.so\nsession optional pam_systemd.so\n"
FEDORA = "auth substack password-auth\n-session include postlogin\nsession required pam_loginuid.so\n"


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of stacks as Debian has them."""
    (tmp_path / "sshd").write_text(DEBIAN)
    (tmp_path / "common-session").write_text(COMMON_SESSION)
    (tmp_path / "other").write_text("session optional pam_motd.so\n")
    monkeypatch.setattr(pam, "STACKS", tmp_path)
    monkeypatch.setattr(pam, "_LIMITS", tmp_path / "limits.d" / "sshload.conf")
    monkeypatch.setattr(pam, "refuse_unless_private", lambda: None)
    return tmp_path


def test_without_switches_nothing_changes(stacks: Path) -> None:
    pam.switch(AS_IT_IS, None)
    assert ((stacks / "sshd").read_text(), (stacks / "common-session").read_text()) == (DEBIAN, COMMON_SESSION)


def test_what_is_switched_off_is_commented_out_in_each_file_of_the_stack(stacks: Path) -> None:
    pam.switch(replace(AS_IT_IS, motd=False, systemd=False), None)
    assert (stacks / "sshd").read_text() == DEBIAN.replace(
        "session    optional     pam_motd", "# session    optional     pam_motd"
    )
    assert (stacks / "common-session").read_text() == COMMON_SESSION.replace("session optional", "# session optional")
    assert (stacks / "other").read_text() == "session optional pam_motd.so\n"


def test_what_is_switched_on_and_there_stays_as_it_is(stacks: Path) -> None:
    pam.switch(replace(AS_IT_IS, limits=True, nologin=True, systemd=True), None)
    assert (stacks / "sshd").read_text() == DEBIAN


def test_what_is_switched_on_and_not_there_is_added(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pam, "is_installed", lambda module: module != "pam_lastlog.so")
    pam.switch(replace(AS_IT_IS, mail=True, lastlog=True), None)
    added = "session optional pam_lastlog2.so\nsession optional pam_mail.so standard noenv\n"
    assert (stacks / "sshd").read_text() == DEBIAN + added


def test_a_module_that_is_not_installed_is_named(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pam, "is_installed", lambda _: False)
    with pytest.raises(ConfigRefusedError, match=r"system\.pam\.lastlog: pam_lastlog\.so and pam_lastlog2\.so are not"):
        pam.switch(replace(AS_IT_IS, lastlog=True), None)
    assert (stacks / "sshd").read_text() == DEBIAN


def test_includes_of_other_distributions_are_followed(stacks: Path) -> None:
    (stacks / "sshd").write_text(FEDORA)
    (stacks / "postlogin").write_text("session optional pam_lastlog.so silent\n")
    (stacks / "password-auth").write_text("auth include password-auth\nsession required pam_limits.so\n")
    pam.switch(replace(AS_IT_IS, lastlog=False, limits=False), None)
    assert (stacks / "postlogin").read_text().startswith("# session")
    assert "\n# session required pam_limits.so" in (stacks / "password-auth").read_text()


def test_the_limit_of_logins_is_written_where_pam_limits_reads_it(stacks: Path) -> None:
    pam.switch(AS_IT_IS, 3)
    assert (stacks / "limits.d" / "sshload.conf").read_text() == "* - maxlogins 3\n"


@pytest.mark.usefixtures("stacks")
def test_a_limit_of_logins_without_pam_limits_is_refused() -> None:
    with pytest.raises(ConfigRefusedError, match="maxLogins needs pam_limits"):
        pam.switch(replace(AS_IT_IS, limits=False), 3)


def test_a_machine_without_a_stack_for_sshd_is_told_what_to_install(stacks: Path) -> None:
    (stacks / "sshd").unlink()
    with pytest.raises(ConfigRefusedError, match="install openssh-server"):
        pam.switch(AS_IT_IS, None)


def test_a_module_that_is_in_none_of_the_folders_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "x86_64-linux-gnu/security"
    folder.mkdir(parents=True)
    monkeypatch.setattr(pam, "_SECURITY_FOLDERS", (f"{tmp_path}/nowhere/security", f"{tmp_path}/*/security"))
    assert not pam.is_installed("pam_oath.so")
    (folder / "pam_oath.so").touch()
    assert pam.is_installed("pam_oath.so")
