"""A real target with a KDC beside its sshd, as root, in namespaces of its own."""

import contextlib
import os
import re
import signal
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from free_ports import free_port
from run_configs import NOWHERE, client, run_config
from running_target import RunningTarget, TargetFolder, make_keys, started_target
from sshload_contract.client import Auth, Client, Library
from sshload_contract.kerberos import MANAGED_REALM, Kdc, Kerberos, Realm
from sshload_contract.load import Load
from sshload_contract.population import Population, user_home, user_name
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_contract.wire.target import PamSwitches, TargetConfig, TargetKerberos, TargetSystem
from sshload_target.usage.process_tree import descendants

HOST = "127.0.0.1"
_SECRET = b"a secret of tests, with 32 bytes"
_SSHD_CONFIG = """\
AllowUsers user*
UsePAM yes
PrintMotd no
MaxStartups 100
LogLevel VERBOSE
GSSAPIAuthentication yes
GSSAPIStrictAcceptorCheck no
"""
_ISSUED = re.compile(r"\b(AS|TGS)_REQ .*ISSUE: .*, (\S+)@\S+ for (\S+)@")

_numbers = count()


@dataclass(frozen=True, slots=True)
class KerberosTarget:
    """A running target, and the population whose users it knows."""

    target: RunningTarget
    population: Population

    def endpoint(self, user: str) -> Endpoint:
        """Return how a user logs in, by the password of all of them."""
        folder = self.target.folder
        return replace(
            NOWHERE,
            host=HOST,
            port=folder.config.sshd_port,
            user=user,
            auth=Auth.GSSAPI,
            password_path=str(folder.path / "keys/password"),
            known_hosts_path=str(folder.path / "known_hosts"),
        )

    def kdc(self) -> Kdc:
        """Return where the KDC listens."""
        return Kdc(HOST, self.target.folder.config.kdc_port)

    def kerberos(self, *, fresh: bool = False) -> Kerberos:
        """Return what workers know of the realm."""
        return Kerberos((Realm(MANAGED_REALM, (self.kdc(),), ()),), fresh)

    def client(self, library: Library, *, fresh: bool = False) -> Client:
        """Return the settings of a client of this realm."""
        return replace(client(), library=library, kerberos=self.kerberos(fresh=fresh))

    def run_config(self, user: str, library: Library, load: Load, *, fresh: bool = False) -> RunConfig:
        """Return a run in which a user logs in."""
        config = run_config(self.endpoint(user), load)
        return replace(config, client=self.client(library, fresh=fresh))

    def issued(self) -> list[tuple[str, str, str]]:
        """Return the tickets that the KDC has issued by its log: AS or TGS, for whom, and for what."""
        return [(kind, user, service) for kind, user, service in _ISSUED.findall(self.kdc_log())]

    def kdc_log(self) -> str:
        """Return what the KDC has logged."""
        return Path(f"/proc/{self._kdc_pid}/fd/2").read_text(encoding="utf-8")

    @contextlib.contextmanager
    def kdc_paused(self) -> Iterator[None]:
        """Stop the KDC for as long as the context lasts: it takes connections, and does not answer."""
        os.kill(self._kdc_pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._kdc_pid, signal.SIGCONT)

    def keytab(self, *users: str) -> Path:
        """Return a new keytab with the keys of users."""
        path = self.target.folder.path / f"keytab{next(_numbers)}"
        environment = Path(f"/proc/{self._kdc_pid}/environ").read_text(encoding="utf-8").split("\0")
        subprocess.run(
            ["nsenter", "--target", str(self._kdc_pid), "--mount", "kadmin.local"],
            input=f"ktadd -norandkey -k {path} {' '.join(users)}\n",
            env=dict(line.split("=", 1) for line in environment if line),
            text=True,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return path

    @property
    def _kdc_pid(self) -> int:
        return next(one.pid for one in descendants(self.target.process.pid) if _is_kdc(one.pid))


def _is_kdc(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):  # a process of a login has ended
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() == "krb5kdc"
    return False


@contextlib.contextmanager
def kerberos_target(folder: Path, users: int = 3, ticket_s: float = 36_000) -> Iterator[KerberosTarget]:
    """Start a target whose realm has so many users, and wait until it is ready."""
    population = Population(_SECRET, users)
    make_keys(folder / "keys")
    (folder / "keys/population").write_text(b64encode(_SECRET).decode())
    (folder / "keys/password").write_text(population.password)
    first = user_name(1)
    config = TargetConfig(
        user=first,
        home=user_home(first),
        keys_dir=str(folder / "keys"),
        sshd_config=_SSHD_CONFIG,
        sshd_port=free_port(),
        stats_port=free_port(),
        kdc_port=free_port(),
        host=HOST,
        files=(),
        directories=(),
        repositories=(),
        system=TargetSystem(
            users=users, pam=PamSwitches(*[None] * 10), max_logins=None, kerberos=TargetKerberos(ticket_s=ticket_s)
        ),
    )
    place = TargetFolder(folder, config)
    place.config_path.write_text(to_json(config))
    with started_target(place, [*place.command(), "--own-namespaces"]) as target:
        target.wait_until_ready()
        yield KerberosTarget(target, population)
