"""A real sshd with PAM, as root, whose accounts exist only in a mount namespace: nothing of the machine changes."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from below import descendants, end_with_all_below
from free_ports import free_port
from ssh_server import Keys, SshServer

PASSWORD = "right-password-of-pam-7261"
TOTP_SECRET = b"twenty bytes of totp"
_CONDITION_TIMEOUT_S = 300.0
_POLL_S = 0.02
_FIRST_UID = 21_000
_TODAY = 20_000
_NAMESPACE = """set -eu
mount -t tmpfs -o mode=755 private "$1"
cp -a /etc "$1/etc"
mkdir "$1/home" "$1/run" "$1/log"
cp -a "$2/." "$1/etc/"
chmod 600 "$1/etc/shadow" "$1/etc/users.oath"
for name in etc home run; do mount --bind "$1/$name" "/$name"; done
mount --bind "$1/log" /var/log
mount -t proc proc /proc
mkdir /run/sshd
exec /usr/sbin/sshd -D -e -f /etc/pam_server_config
"""
DEBIAN = """account required pam_nologin.so
@include common-account
session required pam_loginuid.so
@include common-session
session required pam_limits.so
"""
ONLY_CODE = f"auth required pam_oath.so usersfile=/etc/users.oath window=1 digits=6\n{DEBIAN}"
ONLY_PASSWORD = f"@include common-auth\n{DEBIAN}"
PASSWORD_AND_CODE = f"@include common-auth\n{ONLY_CODE}"
WITH_FAILLOCK = f"auth requisite pam_faillock.so preauth deny=1 unlock_time=600\n{ONLY_PASSWORD}"


@dataclass(frozen=True)
class Account:
    """An account: its name, and what shadow(5) has of its ages: change, minimum, maximum, warning, inactive, expiry."""

    name: str
    ages: str = f"{_TODAY}:0:99999:7::"


@dataclass(frozen=True)
class PamServer(SshServer):
    """A running sshd with PAM. `etc` is its /etc."""

    pid: int = 0

    @property
    def etc(self) -> Path:
        """The folder that it sees as /etc."""
        return Path(f"/proc/{self.pid}/root/etc")

    @property
    def run(self) -> Path:
        """The folder that it sees as /run."""
        return Path(f"/proc/{self.pid}/root/run")


@dataclass(frozen=True)
class PamSetting:
    """What a server is to be: its PAM stack, its accounts, lines of sshd_config and of limits.conf(5)."""

    stack: str = ONLY_PASSWORD
    accounts: Sequence[Account] = field(default=(Account("load"),))
    directives: str = ""
    limits: str = ""
    banner: str = ""


@contextmanager
def pam_server(folder: Path, keys: Keys, setting: PamSetting) -> Iterator[PamServer]:
    """Run it until the block ends. All accounts have the user's key, PASSWORD and TOTP_SECRET."""
    port = free_port()
    overlay, private = folder / "overlay", folder / "private"
    _write_etc(overlay, keys, setting, port)
    private.mkdir()
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(f"[127.0.0.1]:{port} {keys.host.with_suffix('.pub').read_text()}")
    log_path = folder / "sshd.log"
    isolated: list[str | Path] = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        _NAMESPACE,
        "sh",
        private,
        overlay,
    ]
    with log_path.open("wb") as log, subprocess.Popen(isolated, stderr=log) as unshared:
        try:
            _await_listening(log_path, unshared)
            (sshd,) = [pid for pid in descendants(unshared.pid) if _is_listener(pid, unshared.pid)]
            name = setting.accounts[0].name
            yield PamServer(port, name, keys, known_hosts, log_path, unshared, sshd)
        finally:
            end_with_all_below(unshared.pid)
            unshared.wait()


def _is_listener(pid: int, parent: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1] == str(parent)


def _await_listening(log_path: Path, process: "subprocess.Popen[bytes]") -> None:
    deadline_s = time.monotonic() + _CONDITION_TIMEOUT_S
    while "Server listening" not in log_path.read_text():
        assert process.poll() is None, log_path.read_text()
        assert time.monotonic() < deadline_s, "sshd does not listen"
        time.sleep(_POLL_S)


def _write_etc(overlay: Path, keys: Keys, setting: PamSetting, port: int) -> None:
    (overlay / "pam.d").mkdir(parents=True)
    (overlay / "security").mkdir()
    hashed = subprocess.run(
        ["openssl", "passwd", "-5", "-stdin"], input=PASSWORD, capture_output=True, text=True, check=True
    ).stdout.strip()
    numbered = list(enumerate(setting.accounts, start=_FIRST_UID))
    root = "root:x:0:0:root:/root:/bin/sh\nsshd:x:110:65534::/run/sshd:/usr/sbin/nologin\n"
    users = "".join(f"{one.name}:x:{uid}:{uid}::/:/bin/sh\n" for uid, one in numbered)
    shadow = "".join(f"{one.name}:{hashed}:{one.ages}:\n" for _, one in numbered)
    oath = "".join(f"HOTP/T30/6 {one.name} - {TOTP_SECRET.hex()}\n" for _, one in numbered)
    for name, text in {
        "passwd": root + users,
        "shadow": f"root:*:{_TODAY}:0:99999:7:::\nsshd:!:{_TODAY}::::::\n{shadow}",
        "group": "root:x:0:\nnogroup:x:65534:\n" + "".join(f"{one.name}:x:{uid}:\n" for uid, one in numbered),
        "users.oath": oath,
        "pam.d/sshd": setting.stack,
        "security/limits.conf": setting.limits,
        "banner": setting.banner,
        "authorized_keys": keys.user.with_suffix(".pub").read_text(),
        "host_key": keys.host.read_text(),
        "pam_server_config": _sshd_config(setting, port),
    }.items():
        (overlay / name).write_text(text)
    (overlay / "host_key").chmod(0o600)


def _sshd_config(setting: PamSetting, port: int) -> str:
    usual = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": "/etc/host_key",
        "AuthorizedKeysFile": "/etc/authorized_keys",
        "PidFile": "none",
        "UsePAM": "yes",
        "KbdInteractiveAuthentication": "yes",
        "PasswordAuthentication": "yes",
        "LogLevel": "VERBOSE",
        "PrintMotd": "no",
        "MaxStartups": "3000:30:3000",
        "KexAlgorithms": "-sntrup761*",
    }
    lines = [f"{keyword} {value}" for keyword, value in usual.items() if keyword not in setting.directives]
    banner = ["Banner /etc/banner"] if setting.banner else []
    return "\n".join([setting.directives, *lines, *banner, ""])
