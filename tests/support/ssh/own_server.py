"""An sshd of the user's own on loopback, as a server that exists: for external targets, and as a jump host."""

import os
import pwd
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from below import end_with_all_below
from free_ports import free_port
from local_cli import ENDS_WITHIN_S, wait_until

USER = pwd.getpwuid(os.geteuid()).pw_name


@dataclass(frozen=True, slots=True)
class OwnServer:
    """A server, and the files that let a client in: a key, the same one encrypted with its passphrase, the host keys.

    `known_hosts` knows it as 127.0.0.1 and as localhost.
    """

    port: int
    identity: Path
    encrypted_identity: Path
    passphrase_file: Path
    known_hosts: Path
    log: Path
    pid: int = 0

    def accepted(self) -> int:
        """Return how many logins it has granted, by its log."""
        return self.log.read_text(encoding="utf-8").count("Accepted publickey")

    def connections(self) -> list[int]:
        """Return the processes that serve its connections, one for each, the oldest first."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def reference(self, host: str = "127.0.0.1", **changes: Any) -> dict[str, Any]:
        """Return how a test refers to it, in spec.target.external and spec.via."""
        named = {"credentialsSecretRef": {"name": "login"}, "knownHostsSecretRef": {"name": "hosts"}}
        return {"host": host, "port": self.port, "user": USER, **named, **changes}

    def target(self) -> dict[str, object]:
        """Return spec.target for it."""
        return {"external": self.reference()}

    def credentials(self) -> list[str | Path]:
        """Return the options that let a client in."""
        return ["--identity", self.identity, "--known-hosts", self.known_hosts]


@contextmanager
def running_server(folder: Path) -> Iterator[OwnServer]:
    """Run one whose files are in `folder`."""
    server = _made(folder)
    config = folder / "sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1:{server.port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/id.pub\n"
        "StrictModes no\nPidFile none\nUsePAM no\nPasswordAuthentication no\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True) if os.geteuid() == 0 else None
    with server.log.open("wb") as log:
        process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", config], stderr=log)
    try:
        wait_until(lambda: _listens(server, process), "an sshd that listens")
        yield replace(server, pid=process.pid)
    finally:
        end_with_all_below(process.pid)
        process.wait(ENDS_WITHIN_S)


def _made(folder: Path) -> OwnServer:
    for name in ("id", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    encrypted, passphrase = folder / "encrypted", "correct horse"
    encrypted.touch(mode=0o600)
    encrypted.write_bytes((folder / "id").read_bytes())
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", passphrase, "-f", encrypted], check=True)
    (folder / "passphrase").write_text(f"{passphrase}\n")
    port = free_port()
    host_key = (folder / "host.pub").read_text()
    (folder / "known_hosts").write_text("".join(f"[{name}]:{port} {host_key}" for name in ("127.0.0.1", "localhost")))
    return OwnServer(port, folder / "id", encrypted, folder / "passphrase", folder / "known_hosts", folder / "log")


def _listens(server: OwnServer, process: subprocess.Popen[bytes]) -> bool:
    log = server.log.read_text(encoding="utf-8")
    assert process.poll() is None, log
    return "Server listening" in log
