"""A target as its distribution has it: root's sshd with PAM and accounts of its own, which no machine keeps."""

import os
import pwd
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from running_target import WITHIN_S, RunningTarget, ready_target, started_target, wait_until
from sshload_contract.wire.target import FileFixture, RepositoryFixture
from sshload_target.usage.process_tree import descendants
from system_target import AS_IT_IS, make_system_folder, population_of, run_as

pytestmark = pytest.mark.root
USERS = 3
MOUNTS_AND_DEVICES = 1 << 16 | 1 << 17 | 1 << 21 | 1 << 27
"""CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_ADMIN and CAP_MKNOD, capabilities(7)."""
BUSY = "python3 -c 'import time\nwhile time.process_time() < 0.4: pass'"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTarget]:
    folder = make_system_folder(tmp_path_factory.mktemp("system"), USERS, sshd_config="LogLevel VERBOSE\n")
    with ready_target(folder) as running:
        yield running


def test_each_user_logs_in_with_the_key_that_is_derived_and_is_alone_in_a_home(target: RunningTarget) -> None:
    before = target.stats().accepted
    said = {name: run_as(target, name, "id -un; pwd; stat -c %a .").stdout.split() for name in _names(target)}
    assert said == {name: [name, f"/home/{name}", "700"] for name in _names(target)}
    wait_until(lambda: target.stats().accepted - before == USERS, "each login counted")
    assert all(f"Accepted publickey for {name} from" in target.log() for name in _names(target))


def _names(target: RunningTarget) -> list[str]:
    return list(population_of(target.folder).names)


def test_the_key_of_one_user_does_not_let_in_another(target: RunningTarget) -> None:
    run_as(target, "user00001", "true")
    refused = run_as(target, "user00002", "true", key_of="user00001")
    assert (refused.returncode, "Permission denied" in refused.stderr) == (255, True)


def test_the_runs_own_key_lets_in_the_first_user(target: RunningTarget) -> None:
    assert target.run("id -un") == "user00001\n"


@pytest.mark.parametrize("method", ["password", "keyboard-interactive"])
def test_users_log_in_by_the_password_of_all_of_them(target: RunningTarget, method: str, tmp_path: Path) -> None:
    secret = tmp_path / "askpass"
    secret.write_text(f"#!/bin/sh\necho {population_of(target.folder).password}\n")
    secret.chmod(0o700)
    options = ("BatchMode=no", f"PreferredAuthentications={method}", "PubkeyAuthentication=no")
    environment = {**os.environ, "SSH_ASKPASS": str(secret), "SSH_ASKPASS_REQUIRE": "force"}
    done = run_as(target, "user00003", "id -un", options=options, environment=environment)
    assert done.stdout == "user00003\n", done.stderr
    wait_until(lambda: f"Accepted {method}" in target.log(), "the login in the log")


def test_no_account_of_the_machine_gets_in_and_none_has_a_password(target: RunningTarget) -> None:
    refused = run_as(target, "root", "true", key_of="user00001")
    assert (refused.returncode, "Permission denied" in refused.stderr) == (255, True)
    shadow = inside(target, "cat", "/etc/shadow").splitlines()
    others = [line.split(":")[1] for line in shadow if not line.startswith("user")]
    assert {*others} == {"*"}
    assert len(others) == len(Path("/etc/shadow").read_text().splitlines())


def inside(target: RunningTarget, *command: str) -> str:
    """Return what a command says that runs as root in the target's namespaces."""
    (first,) = [stat.pid for stat in descendants(target.process.pid) if stat.parent == target.process.pid]
    done = subprocess.run(
        ["nsenter", "--mount", "--pid", "--target", str(first), *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    return done.stdout + done.stderr


def test_a_session_reads_no_secret_of_the_run_and_nothing_of_another_user(target: RunningTarget) -> None:
    keys = target.folder.config.keys_dir
    places = f"{keys}/population {keys}/id_ed25519 {keys}/ssh_host_ed25519_key /home/user00002/.ssh/authorized_keys"
    script = f"for place in {places} /etc/shadow /proc/1/environ; do cat $place && echo READ $place; done"
    done = run_as(target, "user00001", script)
    assert (done.stdout, done.stderr.count("Permission denied")) == ("", 6)


def test_the_secret_of_the_population_is_in_no_argument_variable_or_log(target: RunningTarget) -> None:
    population = population_of(target.folder)
    run_as(target, "user00001", "true")
    wait_until(lambda: target.stats().processes == 2, "the target and sshd alone")
    below = [target.process.pid, *(stat.pid for stat in descendants(target.process.pid))]
    told = b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for pid in below for name in ("cmdline", "environ"))
    told += target.log().encode() + target.get("/stats").encode() + target.get("/metrics").encode()
    text = (Path(target.folder.config.keys_dir) / "population").read_text().encode()
    secrets = [text, population.secret, population.password.encode(), *map(population.key_seed, population.names)]
    assert [secret for secret in secrets if secret in told or secret.hex().encode() in told] == []


def test_nothing_of_the_machine_can_be_written_by_root_either(target: RunningTarget) -> None:
    places = ["/", "/opt", "/root", "/usr/local/bin", "/var/lib", "/var/spool", "/srv", "/sys/fs/cgroup"]
    here = [place for place in places if Path(place).is_dir()]
    said = inside(target, "touch", *(f"{place}/sshload-was-here" for place in here))
    assert said.count("Read-only file system") == len(here), said


def test_programs_of_root_reach_neither_devices_nor_settings_of_the_machine_and_cannot_mount(
    target: RunningTarget,
) -> None:
    """Root's sshd runs what its configuration names (AuthorizedKeysCommand), and PAM its modules."""
    assert inside(target, "find", "/dev", "-type", "b") == ""
    known = Path("/proc/sys/kernel/core_pattern").read_text()
    said = inside(target, "sh", "-c", f"printf %s '{known.strip()}' > /proc/sys/kernel/core_pattern")
    assert "Read-only file system" in said
    wait_until(lambda: target.stats().processes == 2, "the target and sshd alone")
    programs = [stat.pid for stat in descendants(target.process.pid)]
    (sshd,) = [pid for pid in programs if Path(f"/proc/{pid}/comm").read_text() == "sshd\n"]
    for kind in ("CapBnd", "CapEff"):
        status = dict(line.split(":\t") for line in Path(f"/proc/{sshd}/status").read_text().splitlines())
        assert int(status[kind], 16) & MOUNTS_AND_DEVICES == 0


def test_what_the_target_writes_is_not_on_the_machine(target: RunningTarget) -> None:
    names = inside(target, "cat", "/etc/passwd")
    run_as(target, "user00001", "touch /tmp/sshload-was-here /var/tmp/sshload-was-here /dev/shm/sshload-was-here")
    assert "user00001" in names
    assert "user00001" not in {user.pw_name for user in pwd.getpwall()}
    assert "user00001" not in Path("/etc/shadow").read_text() + Path("/etc/group").read_text()
    made = ["/home/user00001", *(f"{place}/sshload-was-here" for place in ("/tmp", "/var/tmp", "/dev/shm"))]
    assert [path for path in made if Path(path).exists()] == []


def test_sessions_see_no_process_and_no_terminal_of_the_machine(target: RunningTarget) -> None:
    said = run_as(target, "user00001", "cat /proc/[0-9]*/cmdline; echo; ls /dev/pts").stdout
    programs, terminals = said.rsplit("\n", 2)[0], said.splitlines()[-1]
    assert "sshload_target" in programs
    assert "pytest" not in programs.replace(str(target.folder.path), "")
    assert terminals == "ptmx"


def test_the_results_say_what_is_measured(target: RunningTarget) -> None:
    stats = target.stats()
    assert (stats.as_root, stats.pam, stats.accounts) == (True, True, "files")
    named = [line for line in Path("/etc/os-release").read_text().splitlines() if line.startswith("PRETTY_NAME=")]
    assert named == [f'PRETTY_NAME="{stats.distribution}"']


def test_the_cpu_time_of_sessions_of_other_users_counts(target: RunningTarget) -> None:
    before = target.stats()
    assert run_as(target, "user00002", BUSY).returncode == 0
    wait_until(lambda: target.stats().sessions == 0, "no session")
    assert target.stats().sshd_cpu_s - before.sshd_cpu_s >= 0.4


def test_a_refused_login_is_counted_once(target: RunningTarget) -> None:
    before = target.stats().auth_failed
    assert run_as(target, "user00002", "true", key_of="user00003").returncode == 255
    wait_until(lambda: target.stats().auth_failed - before == 1, "the refusal counted")


def test_a_stop_ends_sessions_of_all_users_and_what_they_left_running(tmp_path: Path) -> None:
    with ready_target(make_system_folder(tmp_path)) as target, ExitStack() as clients:
        for name in ("user00001", "user00002"):
            run_as(target, name, "setsid sleep 1000 >/dev/null 2>&1 &")
            held = target.ssh("echo here; trap '' TERM HUP; sleep 1000", options=("-o", f"User={name}"))
            client = clients.enter_context(subprocess.Popen(held, stdout=subprocess.PIPE, text=True))
            clients.callback(client.kill)
        wait_until(lambda: target.stats().processes >= 7, "sessions and what they left")
        running = [stat.pid for stat in descendants(target.process.pid)]
        assert target.stop() == 0
        assert [pid for pid in running if Path(f"/proc/{pid}").exists()] == []


def test_nothing_is_left_where_the_target_is_killed(tmp_path: Path) -> None:
    with ready_target(make_system_folder(tmp_path)) as target:
        run_as(target, "user00001", "setsid sleep 1000 >/dev/null 2>&1 &")
        running = [stat.pid for stat in descendants(target.process.pid)]
        target.process.send_signal(signal.SIGKILL)
        target.process.wait(timeout=WITHIN_S)
        wait_until(lambda: not any(map(_is_running, running)), "all ended")


def _is_running(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has reaped has no command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except FileNotFoundError:
        return False


def test_parts_of_the_stack_are_switched_off(tmp_path: Path) -> None:
    switches = replace(AS_IT_IS, motd=False, mail=False, systemd=False)
    folder = make_system_folder(tmp_path, pam=switches)
    with ready_target(folder) as target:
        stack = run_as(target, "user00001", "cat /etc/pam.d/sshd /etc/pam.d/common-session").stdout.splitlines()
        in_force = " ".join(line for line in stack if not line.startswith("#"))
        assert "pam_limits.so" in in_force
        assert not [part for part in ("pam_motd.so", "pam_mail.so", "pam_systemd.so") if part in in_force]


def test_a_user_has_no_more_logins_at_once_than_pam_limits_allows(tmp_path: Path) -> None:
    with ready_target(make_system_folder(tmp_path, max_logins=1)) as target, ExitStack() as clients:
        held = target.ssh("echo here; cat", options=("-tt",))
        client = clients.enter_context(
            subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        )
        clients.callback(client.kill)
        assert client.stdout is not None
        assert client.stdout.readline() == "here\n"
        refused = run_as(target, "user00001", "-tt", "true")
        assert (refused.returncode, "too many logins for 'user00001'" in refused.stdout) == (254, True), refused
        assert run_as(target, "user00002", "-tt", "true").returncode == 0


def test_accounts_are_made_nowhere_but_in_a_private_etc(tmp_path: Path) -> None:
    folder = make_system_folder(tmp_path)
    accounts = {
        file: Path(file).read_bytes() for file in ("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/pam.d/sshd")
    }
    command = [word for word in folder.command() if word != "--own-namespaces"]
    with started_target(folder, command) as target:
        assert target.process.wait(timeout=WITHIN_S) == 78
    assert "/etc is not a private one" in folder.termination_log.read_text()
    assert {file: Path(file).read_bytes() for file in accounts} == accounts


def test_all_users_read_fixtures_that_are_made_once(tmp_path: Path) -> None:
    file, repository = FileFixture("data/archive", 1024), RepositoryFixture("project.git", 2, 4096)
    folder = make_system_folder(tmp_path, 2, fixtures={"files": (file,), "repositories": (repository,)})
    with ready_target(folder) as target:
        read = (
            "stat -Lc %s data/archive; git clone -q project.git copy && ls copy | wc -l; echo x > data/new || echo no"
        )
        for name in ("user00001", "user00002"):
            done = run_as(target, name, read)
            assert done.stdout.split() == ["1024", "2", "no"], done.stderr


def test_the_only_user_has_fixtures_of_their_own(tmp_path: Path) -> None:
    with ready_target(
        make_system_folder(tmp_path, 1, fixtures={"files": (FileFixture("data/archive", 1024),)})
    ) as target:
        assert target.run("stat -c '%U %s' data/archive; touch data/new && echo written") == "user00001 1024\nwritten\n"
