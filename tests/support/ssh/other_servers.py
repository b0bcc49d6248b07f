"""SSH servers that are not OpenSSH, each a program of its own, for one test session or longer.

Run as a program, this module compiles the one in Go, if it is not compiled yet.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from free_ports import free_port
from go_programs import FEW_OPTIMISATIONS, ROOT, Go, compiled
from ssh_server import Keys

_HERE = Path(__file__).parent
_GO_MODULE = _HERE / "go_ssh_server"
_MINA = _HERE / "mina_ssh_server/Server.java"
_MINA_JARS = ROOT / ".venv/share/sshload/mina-sshd"
_SFTP_SERVER = "/usr/lib/openssh/sftp-server"
_AT_HOME = 'mount --bind "$0" /root && exec "$@"'
"""Starts a program that looks for authorized keys in root's home, which is another folder to it."""

_PATIENCE_S = 300.0
_POLL_S = 0.02
_LISTENING = "0A"  # as in proc_pid_net(5)


@dataclass(frozen=True)
class OtherServer:
    """A running server: its port of loopback, the user with the user's key, and a known_hosts with its host key."""

    port: int
    user: str
    known_hosts: Path


Start = Callable[[Path, Keys], Iterator[OtherServer]]
"""Runs a server, with files in a folder of its own, until the iterator is closed."""


def go_program() -> Path:
    """Return the server in Go, compiled if it is not there yet."""
    return compiled("go-ssh-server", [*_GO_MODULE.iterdir(), Path(__file__)], _compile) / "server"


def _compile(go: Go, made: Path) -> None:
    go.run(_GO_MODULE, "build", "-trimpath", *FEW_OPTIMISATIONS, "-o", made / "server", ".")


def proftpd(folder: Path, keys: Keys) -> Iterator[OtherServer]:
    """Run ProFTPD with mod_sftp, which has SFTP and scp, and no commands."""
    port, user = free_port(), "load"
    accounts, key = folder / "accounts", folder / "user-key"
    accounts.write_text(f"{user}:*:{os.getuid()}:{os.getgid()}::{folder}:/bin/sh\n")
    accounts.chmod(0o600)
    key.write_bytes(subprocess.check_output(["ssh-keygen", "-e", "-f", keys.user.with_suffix(".pub")]))
    config = folder / "proftpd.conf"
    config.write_text(proftpd_config(folder, port, [keys.host]))
    with _listening(["proftpd", "--nodaemon", "--config", str(config)], port, folder):
        yield OtherServer(port, user, _known_hosts(folder, port, keys.host.with_suffix(".pub").read_text()))


def proftpd_config(folder: Path, port: int, host_keys: Sequence[Path]) -> str:
    """Return the configuration of a ProFTPD that speaks SFTP only, and takes any number of logins and channels.

    Its users are in the file `accounts` of the folder; they have the one key in `user-key`, in the form of RFC 4716.
    """
    shown = "".join(f"SFTPHostKey {path}\n" for path in host_keys)
    return f"""
ModulePath /usr/lib/proftpd
LoadModule mod_sftp.c
ServerType standalone
ServerName any
Port {port}
DefaultAddress 127.0.0.1
SocketBindTight on
UseIPv6 off
UseReverseDNS off
RootLogin on
UseFtpUsers off
RequireValidShell off
AllowOverwrite on
WtmpLog off
TransferLog none
DelayEngine off
AuthOrder mod_auth_file.c
AuthUserFile {folder}/accounts
ScoreboardFile {folder}/scoreboard
PidFile {folder}/pid
SystemLog {folder}/log
SFTPEngine on
SFTPLog {folder}/sftp.log
{shown}SFTPAuthMethods publickey
SFTPAuthorizedUserKeys file:{folder}/user-key
SFTPMaxChannels 100
MaxLoginAttempts 100
"""


def dropbear(folder: Path, keys: Keys) -> Iterator[OtherServer]:
    """Run Dropbear."""
    port, host_key, home = free_port(), folder / "host-key", _home(folder, keys)
    told = subprocess.check_output(
        ["dropbearkey", "-t", "ed25519", "-f", host_key], text=True, stderr=subprocess.DEVNULL
    )
    public = next(line for line in told.splitlines() if line.startswith("ssh-"))
    command = ["dropbear", "-F", "-E", "-p", f"127.0.0.1:{port}", "-r", str(host_key), "-P", str(folder / "pid")]
    with _listening(_at_home(home, command), port, folder):
        yield OtherServer(port, "root", _known_hosts(folder, port, public))


def tinyssh(folder: Path, keys: Keys) -> Iterator[OtherServer]:
    """Run TinySSH, a process for each connection, with OpenSSH's SFTP server."""
    made, home = folder / "host-key", _home(folder, keys)
    subprocess.check_output(["tinysshd-makekey", made])
    public = subprocess.check_output(["tinysshd-printkey", made], text=True)
    listener = [sys.executable, str(_HERE / "listener.py")]
    command = [*listener, "tinysshd", "-v", "-x", f"sftp={_SFTP_SERVER}", str(made)]
    yield from _telling_port(_at_home(home, command), folder, "root", public)


def asyncssh_server(folder: Path, keys: Keys) -> Iterator[OtherServer]:
    """Run a server by asyncssh."""
    yield from _with_keys([sys.executable, str(_HERE / "asyncssh_server.py")], folder, keys)


def go_server(folder: Path, keys: Keys) -> Iterator[OtherServer]:
    """Run a server in Go, by golang.org/x/crypto/ssh and github.com/pkg/sftp."""
    yield from _with_keys([str(go_program())], folder, keys)


def mina_server(folder: Path, keys: Keys) -> Iterator[OtherServer]:
    """Run a server by Apache MINA SSHD."""
    yield from _with_keys(["java", "-XX:TieredStopAtLevel=1", "-cp", f"{_MINA_JARS}/*", str(_MINA)], folder, keys)


def _with_keys(command: Sequence[str], folder: Path, keys: Keys) -> Iterator[OtherServer]:
    """Run a server that takes any user, and is given its host key and the user's."""
    given = [*command, str(keys.user.with_suffix(".pub")), "0", str(keys.host)]
    yield from _telling_port(given, folder, "load", keys.host.with_suffix(".pub").read_text())


def _telling_port(command: Sequence[str], folder: Path, user: str, public: str) -> Iterator[OtherServer]:
    """Run a server that prints its port once it listens."""
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        try:
            assert server.stdout is not None
            told = server.stdout.readline()
            assert told, (folder / "log").read_text()
            port = int(told)
            yield OtherServer(port, user, _known_hosts(folder, port, public))
        finally:
            _end(server)


@contextmanager
def _listening(command: Sequence[str | Path], port: int, folder: Path) -> Iterator[None]:
    """Run a server that does not say when it listens."""
    with (folder / "output").open("wb") as output:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            deadline_s = time.monotonic() + _PATIENCE_S
            while not listens(port):
                assert server.poll() is None, (folder / "output").read_text()
                assert time.monotonic() < deadline_s, f"{command[0]} does not listen"
                time.sleep(_POLL_S)
            yield
        finally:
            _end(server)


def listens(port: int) -> bool:
    """Tell by the kernel's lists whether the port is listened on: a connection would be one of the server's.

    Java listens on loopback's address as IPv6 has it.
    """
    address = f"0100007F:{port:04X} "
    lists = "".join(Path(f"/proc/net/{name}").read_text(encoding="ascii") for name in ("tcp", "tcp6"))
    return any(address in line and line.split()[3] == _LISTENING for line in lists.splitlines())


def _end(server: "subprocess.Popen[bytes]") -> None:
    server.terminate()
    server.wait()
    if server.stdout is not None:
        server.stdout.close()


def _home(folder: Path, keys: Keys) -> Path:
    """Make a home whose user is let in by the user's key."""
    home = folder / "home"
    (home / ".ssh").mkdir(parents=True)
    home.chmod(0o700)
    (home / ".ssh").chmod(0o700)
    authorized = home / ".ssh/authorized_keys"
    shutil.copy(keys.user.with_suffix(".pub"), authorized)
    authorized.chmod(0o600)
    return home


def _at_home(home: Path, command: Sequence[str]) -> list[str]:
    return ["unshare", "--mount", "sh", "-c", _AT_HOME, str(home), *command]


def _known_hosts(folder: Path, port: int, public: str) -> Path:
    path = folder / "known_hosts"
    path.write_text(f"[127.0.0.1]:{port} {public.strip()}\n")
    return path


if __name__ == "__main__":
    go_program()
