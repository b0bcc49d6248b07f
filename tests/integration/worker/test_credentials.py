import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from one_iteration import run_once
from run_configs import arrivals, client, endpoint, run_config
from ssh_server import SshServer
from sshload_contract.client import Auth, Library
from sshload_contract.vocabulary import Outcome, RunEnd
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.outcomes import GeneratorFaultError
from sshload_worker.scenario.target_login import prepare_login, resolve
from whole_run import whole_run

PASSPHRASE = "correct horse"
DEADLINE_S = 300.0
BITS = {"ed25519": "256", "ecdsa": "256", "rsa": "2048"}
AUTHORIZE = "AuthorizedKeysFile {key}.pub"


def make_key(path: Path, passphrase: str = "") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", path], check=True)
    return path


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def config_of(target: Endpoint) -> RunConfig:
    return run_config(target, arrivals(1, 1))


def fault(config: RunConfig) -> str:
    with pytest.raises(GeneratorFaultError) as raised:
        prepare_login(config, resolve(config.target, pytest.fail))
    return str(raised.value)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s
        gevent.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("passphrase", [pytest.param("", id="plain"), pytest.param(PASSPHRASE, id="encrypted")])
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_every_kind_of_key_logs_in(
    start_sshd: Callable[[str], SshServer],
    copied_key: Callable[..., Path],
    tmp_path: Path,
    kind: str,
    passphrase: str,
) -> None:
    key = copied_key(kind, BITS[kind], passphrase=passphrase)
    server = start_sshd(AUTHORIZE.format(key=key))
    passphrase_path = written(tmp_path / "passphrase", f"{passphrase}\n") if passphrase else ""
    target = replace(endpoint(server), private_key_path=str(key), passphrase_path=passphrase_path)
    done = run_once(config_of(target))
    assert done.outcome is Outcome.OK, done


def test_a_key_in_an_agent_logs_in(sshd: SshServer) -> None:
    done = run_once(config_of(replace(endpoint(sshd), auth=Auth.AGENT)))
    assert done.outcome is Outcome.OK, done


def test_a_certificate_logs_in_where_only_its_authority_is_trusted(
    start_sshd: Callable[[str], SshServer], tmp_path: Path
) -> None:
    key, ca = make_key(tmp_path / "id"), make_key(tmp_path / "ca")
    server = start_sshd(f"TrustedUserCAKeys {ca}.pub\nAuthorizedKeysFile none")
    subprocess.run(["ssh-keygen", "-q", "-s", ca, "-I", "me", "-n", server.user, f"{key}.pub"], check=True)
    target = replace(
        endpoint(server),
        auth=Auth.CERTIFICATE,
        private_key_path=str(key),
        certificate_path=str(tmp_path / "id-cert.pub"),
    )
    done = run_once(config_of(target))
    assert done.outcome is Outcome.OK, done


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"private_key_path": ""}, "the target's private key is needed", id="no key"),
        pytest.param({"private_key_path": "/absent"}, "private key (absent) cannot be read", id="an absent key"),
        pytest.param({"private_key_path": os.devnull}, "private key (null) is empty", id="an empty key"),
        pytest.param({"auth": Auth.CERTIFICATE}, "the target's certificate is needed", id="no certificate"),
        pytest.param({"auth": Auth.PASSWORD}, "the target's password is needed", id="no password"),
        pytest.param(
            {"auth": Auth.PASSWORD, "password_path": os.devnull}, "password (null) is empty", id="an empty password"
        ),
        pytest.param(
            {"auth": Auth.KEYBOARD_INTERACTIVE, "password_path": "/absent"},
            "password (absent) cannot be read",
            id="an absent password",
        ),
        pytest.param({"known_hosts_path": "/absent"}, "known hosts (absent) cannot be read", id="absent known hosts"),
        pytest.param({"known_hosts_path": os.devnull}, "known_hosts has no line for 127.0.0.1", id="no known host"),
    ],
)
def test_files_that_cannot_serve_are_told_before_the_start(
    sshd: SshServer, change: dict[str, str | Auth], said: str
) -> None:
    assert said in fault(config_of(replace(endpoint(sshd), **change)))  # type: ignore[arg-type]  # one of its fields


def test_a_password_is_read_without_its_line_end(sshd: SshServer, tmp_path: Path) -> None:
    for text in ("se cret", "se cret\n", "se cret\r\n"):
        path = written(tmp_path / "password", text)
        config = config_of(replace(endpoint(sshd), auth=Auth.PASSWORD, password_path=path))
        assert prepare_login(config, resolve(config.target, pytest.fail)).credentials.password == "se cret"


def test_a_wrong_passphrase_is_told_and_not_shown(sshd: SshServer, tmp_path: Path) -> None:
    key = make_key(tmp_path / "id", passphrase=PASSPHRASE)
    target = replace(endpoint(sshd), private_key_path=str(key))
    assert "is encrypted: its passphrase is needed" in fault(config_of(target))
    wrong = replace(target, passphrase_path=written(tmp_path / "passphrase", "wrong pony"))
    message = fault(config_of(wrong))
    assert "the target's private key (id) cannot be decrypted" in message
    assert "pony" not in message


def test_a_fault_of_a_jump_host_names_it(sshd: SshServer) -> None:
    config = replace(config_of(endpoint(sshd)), via=(endpoint(sshd), replace(endpoint(sshd), private_key_path="/no")))
    assert fault(config).startswith("jump host 2's private key (no) cannot be read")


def test_known_hosts_with_an_authority_only_are_refused_where_the_library_cannot_check_them(
    sshd: SshServer, tmp_path: Path
) -> None:
    ca = make_key(tmp_path / "ca").with_suffix(".pub").read_text()
    path = written(tmp_path / "known", f"@cert-authority [127.0.0.1]:{sshd.port} {ca}")
    message = fault(config_of(replace(endpoint(sshd), known_hosts_path=path)))
    assert "@cert-authority" in message
    assert Library.SSH2_PYTHON in message


@pytest.mark.parametrize("library", [Library.ASYNCSSH, Library.OPENSSH])
@pytest.mark.parametrize(
    ("principal", "lines", "outcome"),
    [
        pytest.param("127.0.0.1", "@cert-authority [127.0.0.1]:{port} {ca}", Outcome.OK, id="for this host"),
        pytest.param("127.0.0.1", "@cert-authority 127.0.0.* {ca}", Outcome.OK, id="of an authority without a port"),
        pytest.param(
            "127.0.0.1",
            "@cert-authority * {ca}[127.0.0.1]:{port} {stale}",
            Outcome.OK,
            id="beside the line of a key that is no more",
        ),
        pytest.param(
            "elsewhere",
            "@cert-authority [127.0.0.1]:{port} {ca}",
            Outcome.HOST_KEY_MISMATCH,
            id="for another host",
        ),
    ],
)
def test_a_host_certificate_is_checked_where_the_library_can(  # noqa: PLR0913, PLR0917 - fixtures and parameters
    start_sshd: Callable[[str], SshServer],
    tmp_path: Path,
    library: Library,
    principal: str,
    lines: str,
    outcome: Outcome,
) -> None:
    host, ca = make_key(tmp_path / "hostkey"), make_key(tmp_path / "ca")
    command = ["ssh-keygen", "-q", "-s", ca, "-I", "host", "-h", "-n", principal, f"{host}.pub"]
    subprocess.run(command, check=True)
    server = start_sshd(f"HostKey {host}\nHostCertificate {host}-cert.pub")
    keys = {"ca": f"{ca}.pub", "stale": f"{server.keys.stranger}.pub"}
    texts = {name: Path(path).read_text() for name, path in keys.items()}
    known = written(tmp_path / "known", lines.format(port=server.port, **texts))
    config = config_of(replace(endpoint(server), known_hosts_path=known))
    done = run_once(replace(config, client=replace(client(), library=library)))
    assert done.outcome is outcome, done


def test_a_setting_that_the_library_does_not_have_is_told_before_the_start(sshd: SshServer) -> None:
    config = config_of(endpoint(sshd))
    assert "spoon" in fault(replace(config, client=replace(client(), kex_algorithms=("spoon",))))


def test_the_agent_outlives_no_worker_however_that_ends(sshd: SshServer, tmp_path: Path) -> None:
    config = replace(config_of(replace(endpoint(sshd), auth=Auth.AGENT)), load=arrivals(5, 60.0))
    with whole_run(tmp_path, config) as run:
        run.wait_until(lambda: run.iterations() > 0, "an iteration")
        (worker,) = run.workers
        companions = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
        agents = [pid for companion in companions for pid in agents_of(int(companion))]
        assert agents
        worker.send_signal(signal.SIGKILL)
        assert run.summary().end is RunEnd.WORKER_LOST
    wait_until(lambda: not any(is_running(pid) for pid in agents))


def agents_of(companion: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{companion}/task/{companion}/children").read_text().split()]


def test_a_worker_that_ends_leaves_no_agent(sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    config = replace(config_of(replace(endpoint(sshd), auth=Auth.AGENT)), load=arrivals(10, 1.0))
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
        assert run.exit_codes() == [0]
    assert summary.trial.load.succeeded == 10, summary.trial.errors
    assert list(folder.iterdir()) == []
