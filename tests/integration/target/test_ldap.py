"""A target whose accounts are in LDAP: sssd answers for them alone, with their keys and their password, from slapd."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

import pytest
from running_target import WITHIN_S, RunningTarget, ready_target, started_target, wait_until
from slapd_log import slapd_lines, users_asked_for, users_bound
from sshload_contract.wire.ldap import PAUSE_PATH, AccountCache, LdapAccounts
from sshload_target.usage.process_tree import descendants
from system_target import make_system_folder, population_of, run_as

pytestmark = [pytest.mark.root, pytest.mark.slow]
USERS = 3
KEYS_BY_SSSD = (
    "LogLevel VERBOSE\nAuthorizedKeysFile none\n"
    "AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys\nAuthorizedKeysCommandUser nobody\n"
)
COLD = LdapAccounts(
    cache=AccountCache.COLD,
    entry_cache_timeout_s=1,
    search_timeout_s=None,
    offline_timeout_s=None,
    pam_initgroups_scheme=None,
    pause_s=None,
    log_operations=True,
)
WARM = replace(COLD, cache=AccountCache.WARM, entry_cache_timeout_s=5_400, pam_initgroups_scheme="never")
PROGRAMS = ("slapd", "sssd", "sssd_be", "sssd_nss", "sssd_pam", "sssd_ssh")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTarget]:
    folder = make_system_folder(tmp_path_factory.mktemp("ldap"), USERS, sshd_config=KEYS_BY_SSSD, ldap=COLD)
    with ready_target(folder) as running:
        yield running


def _names(target: RunningTarget) -> list[str]:
    return list(population_of(target.folder).names)


def _by_password(
    target: RunningTarget, name: str, method: str, password: str, folder: Path
) -> subprocess.CompletedProcess[str]:
    secret = folder / "askpass"
    secret.write_text(f"#!/bin/sh\necho {password}\n")
    secret.chmod(0o700)
    options = (
        "BatchMode=no",
        f"PreferredAuthentications={method}",
        "PubkeyAuthentication=no",
        "NumberOfPasswordPrompts=1",
    )
    environment = {**os.environ, "SSH_ASKPASS": str(secret), "SSH_ASKPASS_REQUIRE": "force"}
    return run_as(target, name, "id -un", options=options, environment=environment)


def test_each_user_logs_in_by_the_key_that_slapd_has_and_is_in_no_file(target: RunningTarget) -> None:
    script = "id -un; id -gn; pwd; getent -s files passwd $(id -un); getent -s sss passwd $(id -un); ls -A .ssh"
    for name in _names(target):
        done = run_as(target, name, script)
        user, group, home, entry = done.stdout.splitlines()
        assert (user, group, home) == (name, name, f"/home/{name}")
        assert re.fullmatch(rf"{name}:\*:(\d+):\1:{name}:/home/{name}:/bin/bash", entry)
        assert ".ssh" in done.stderr
    log = target.log()
    assert set(_names(target)) <= set(users_asked_for(log))
    let_in = set(re.findall(r"^Accepted publickey for (user\d+) ", log, re.MULTILINE))
    assert let_in == set(_names(target))
    assert log.count("found at /usr/bin/sss_ssh_authorizedkeys:") >= USERS


def test_the_key_of_one_user_does_not_let_in_another(target: RunningTarget) -> None:
    refused = run_as(target, "user00002", "true", key_of="user00001")
    assert (refused.returncode, "Permission denied" in refused.stderr) == (255, True)


def test_the_runs_own_key_lets_in_the_first_user(target: RunningTarget) -> None:
    assert target.run("id -un") == "user00001\n"


@pytest.mark.parametrize("method", ["password", "keyboard-interactive"])
def test_slapd_checks_the_password_of_who_logs_in_by_it(target: RunningTarget, method: str, tmp_path: Path) -> None:
    before = len(users_bound(target.log()))
    password = population_of(target.folder).password
    done = _by_password(target, "user00003", method, password, tmp_path)
    assert done.stdout == "user00003\n", done.stderr + target.log()
    assert users_bound(target.log())[before:] == ["user00003"]
    said = "Accepted password" if method == "password" else "Accepted keyboard-interactive/pam"
    wait_until(lambda: f"{said} for user00003 " in target.log(), "the login in sshd's log")


def test_slapd_refuses_a_wrong_password_and_so_does_sshd(target: RunningTarget, tmp_path: Path) -> None:
    before = len(users_bound(target.log()))
    refused = _by_password(target, "user00002", "password", "wrong", tmp_path)
    assert (refused.returncode, "Permission denied" in refused.stderr) == (255, True)
    assert users_bound(target.log())[before:] == ["user00002"]


def test_the_results_say_who_answers(target: RunningTarget) -> None:
    stats = target.stats()
    assert stats.accounts == "sss"
    assert stats.ldap is not None
    assert stats.ldap.cache is AccountCache.COLD
    assert stats.ldap.slapd_version[0].isdigit()
    assert stats.ldap.sssd_version[0].isdigit()
    assert 0 < stats.ldap.cpu_s < stats.cpu_s
    assert stats.ldap.paused is None


def test_what_slapd_and_sssd_use_grows_with_what_they_are_asked_and_is_not_sshds(target: RunningTarget) -> None:
    before = target.stats()
    run_as(target, "user00001", "for n in $(seq 300); do getent passwd nobody$n; done; true")
    wait_until(lambda: target.stats().sessions == 0, "no session")
    after = target.stats()
    assert before.ldap is not None
    assert after.ldap is not None
    assert after.ldap.cpu_s - before.ldap.cpu_s >= 0.02
    total = (after.cpu_s - after.own_cpu_s) - (before.cpu_s - before.own_cpu_s)
    of_sshd, of_directory = after.sshd_cpu_s - before.sshd_cpu_s, after.ldap.cpu_s - before.ldap.cpu_s
    assert of_sshd + of_directory == pytest.approx(total)


def test_a_target_without_a_pause_is_not_paused_by_who_asks_for_one(target: RunningTarget) -> None:
    assert target.http_status(PAUSE_PATH) == HTTPStatus.NOT_FOUND


def test_nothing_that_may_be_read_has_the_password_or_its_hash(target: RunningTarget) -> None:
    for name in _names(target):
        run_as(target, name, "true")
    programs = {pid: comm for pid, comm in _programs(target).items() if comm in PROGRAMS}
    assert sorted(programs.values()) == sorted(PROGRAMS)
    (sssd,) = [pid for pid, comm in programs.items() if comm == "sssd"]
    root = Path(f"/proc/{sssd}/root")
    files = [*(root / "var/lib/sss").rglob("*"), *(root / "etc/sssd").rglob("*"), *(root / "var/log").rglob("*")]
    told = b"".join(file.read_bytes() for file in files if file.is_file())
    told += b"".join(Path(f"/proc/{pid}/{what}").read_bytes() for pid in programs for what in ("cmdline", "environ"))
    told += target.log().encode() + target.get("/stats").encode() + target.get("/metrics").encode()
    assert b"user00001" in told
    assert population_of(target.folder).password.encode() not in told
    assert b"{SSHA}" not in told


def _programs(target: RunningTarget) -> dict[int, str]:
    """Return what runs below a target, without what ends meanwhile."""
    found = {}
    for stat in descendants(target.process.pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            found[stat.pid] = Path(f"/proc/{stat.pid}/comm").read_text().strip()
    return found


def test_a_session_reads_neither_the_directorys_files_nor_sssds_cache(target: RunningTarget) -> None:
    (slapd,) = [pid for pid, comm in _programs(target).items() if comm == "slapd"]
    command = Path(f"/proc/{slapd}/cmdline").read_text().split("\0")
    folder = Path(command[command.index("-f") + 1]).parent
    places = [folder / "database" / "data.mdb", folder / "slapd.key", "/etc/sssd/sssd.conf"]
    script = f"for place in {' '.join(map(str, places))} /var/lib/sss/db/*; do cat $place && echo READ $place; done"
    done = run_as(target, "user00001", script)
    assert (done.stdout, done.stderr.count("Permission denied")) == ("", len(places) + 1)


def test_a_warm_cache_has_all_users_before_the_first_of_them_logs_in(tmp_path: Path) -> None:
    folder = make_system_folder(tmp_path, USERS, sshd_config=KEYS_BY_SSSD, ldap=WARM)
    with ready_target(folder) as target:
        asked = users_asked_for(target.log())
        assert set(asked) == set(_names(target))
        for name in _names(target):
            assert run_as(target, name, "id -un").stdout == f"{name}\n"
        assert users_asked_for(target.log()) == asked
        stats = target.stats()
        assert stats.ldap is not None
        assert stats.ldap.cache is AccountCache.WARM


def test_a_target_whose_slapd_ends_by_itself_ends_and_says_so(tmp_path: Path) -> None:
    folder = make_system_folder(tmp_path, sshd_config=KEYS_BY_SSSD, ldap=replace(COLD, log_operations=False))
    with started_target(folder) as target:
        target.wait_until_ready()
        (slapd,) = [pid for pid, comm in _programs(target).items() if comm == "slapd"]
        os.kill(slapd, signal.SIGKILL)
        assert target.process.wait(timeout=WITHIN_S) == 1
        assert "slapd ended by itself, by SIGKILL" in folder.termination_log.read_text()
        assert list(slapd_lines(target.log())) == []
