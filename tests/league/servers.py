"""The servers of the league: how each is started, what is changed of its own defaults, and what it is."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import other_servers
from obtained import (
    crate_version,
    debian,
    go_module_version,
    go_server,
    go_version,
    java_version,
    libssh_server,
    mina_version,
    package_version,
    russh_server,
    rust_version,
)
from other_servers import proftpd_config

_SSH = Path(other_servers.__file__).parent
_MINA_JARS = Path(sys.prefix) / "share/sshload/mina-sshd"
_KINDS = ("ed25519", "rsa", "ecdsa")
_HERE = 'cd "$0"; HOME=$0; export HOME; shift; exec "$@"'
_IN_ANOTHER_DEBIAN = """
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/tmp"
mkdir -p "$1$0"
mount --bind "$0" "$1$0"
mount --bind "$0" "$1/root"
root=$1
shift
export HOME=/root
exec chroot "$root" sh -c 'cd /root && exec "$@"' sh "$@"
"""
_SIZES = {"rsa": ("-b", "3072"), "ecdsa": ("-b", "256")}


@dataclass(frozen=True)
class Place:
    """What a server is started with.

    `folder` is the server's own, below `home`, which is the home of root to it: both have the same path everywhere.
    """

    folder: Path
    port: int
    host_keys: Sequence[Path]
    user_key: Path

    @property
    def authorized(self) -> Path:
        """Return the public half of the user's key."""
        return self.user_key.with_suffix(".pub")


@dataclass(frozen=True)
class Started:
    """A command, the Debian that it runs in (None: this machine's), and host keys that it shows beside those given."""

    command: Sequence[str | Path]
    root: Path | None = None
    own_host_keys: str = ""


@dataclass(frozen=True)
class Server:
    """A server: what it is called, how it is started, and what the page says of it.

    `version` and `build` are asked for when it is measured. `changed` is what is not its own default. `program` says
    whether the server is a product, or a library with a small server of ours.
    """

    name: str
    start: Callable[[Place], Started]
    version: Callable[[], str]
    build: Callable[[], str]
    program: str
    changed: str
    is_slow_at_first: bool = False


def within(root: Path | None, home: Path, command: Sequence[str | Path]) -> list[str | Path]:
    """Return the command that runs another one in a Debian whose root has this home, or here, in this home.

    The mounts are of that command alone, and go with it.
    """
    script = _HERE if root is None else _IN_ANOTHER_DEBIAN
    return ["unshare", "--mount", "sh", "-euc", script, str(home), str(root or ""), *command]


def make_host_keys(folder: Path) -> list[Path]:
    """Make the host keys of all servers, of each kind one."""
    keys = [folder / f"host-{kind}" for kind in _KINDS]
    for kind, path in zip(_KINDS, keys, strict=True):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", kind, *_SIZES.get(kind, ()), "-N", "", "-C", "", "-f", path], check=True
        )
    return keys


def _openssh(release: str, place: Place) -> Started:
    config = place.folder / "sshd_config"
    keys = "".join(f"HostKey {path}\n" for path in place.host_keys)
    penalties = "" if release == "bookworm" else "PerSourcePenalties no\n"
    config.write_text(f"""
Port {place.port}
ListenAddress 127.0.0.1
{keys}{penalties}AuthorizedKeysFile {place.authorized}
StrictModes no
UsePAM no
PidFile none
MaxStartups 3000:30:3000
Subsystem sftp internal-sftp
""")
    return Started(["/usr/sbin/sshd", "-D", "-e", "-f", config], debian(release))


def _dropbear(release: str, place: Place) -> Started:
    root, keys = debian(release), []
    for path in place.host_keys:
        converted = place.folder / f"{path.name}.dropbear"
        _run_in(root, place, "dropbearconvert", "openssh", "dropbear", str(path), str(converted))
        keys += ["-r", str(converted)]
    _authorize(place)
    pid = str(place.folder / "pid")
    return Started(["dropbear", "-F", "-E", "-p", f"127.0.0.1:{place.port}", *keys, "-P", pid], root)


def _tinyssh(place: Place) -> Started:
    root, made = debian("sid"), place.folder / "tinyssh-keys"
    _run_in(root, place, "tinysshd-makekey", str(made))
    public = _run_in(root, place, "tinysshd-printkey", str(made))
    _authorize(place)
    listener = ["tcpserver", "-HRDl0", "-b", "128", "-c", "1000", "127.0.0.1", str(place.port)]
    sftp = "sftp=/usr/lib/openssh/sftp-server"
    return Started([*listener, "tinysshd", "-l", "-x", sftp, made], root, public)


def _proftpd(place: Place) -> Started:
    folder = place.folder
    accounts, key, config = folder / "accounts", folder / "user-key", folder / "proftpd.conf"
    accounts.write_text("root:*:0:0::/root:/bin/sh\n")
    accounts.chmod(0o600)
    key.write_bytes(subprocess.check_output(["ssh-keygen", "-e", "-f", place.authorized]))
    config.write_text(proftpd_config(folder, place.port, place.host_keys))
    return Started(["proftpd", "--nodaemon", "--config", config], debian("bookworm"))


def _libssh(place: Place) -> Started:
    keys = [word for path in place.host_keys for word in ("-k", path)]
    command = ["libssh-server", "-p", str(place.port), *keys, "-u", "root", "-a", place.authorized, "127.0.0.1"]
    return Started(command, libssh_server())


def _russh(place: Place) -> Started:
    return Started(["russh-server", place.authorized, str(place.port), *place.host_keys], russh_server())


def _program(command: Callable[[], Sequence[str | Path]], place: Place) -> Started:
    return Started([*command(), place.authorized, str(place.port), *place.host_keys])


def _java() -> Sequence[str | Path]:
    return "java", "-cp", f"{_MINA_JARS}/*", _SSH / "mina_ssh_server/Server.java"


def _authorize(place: Place) -> None:
    """Let the user in by the file in the home, where a server looks nowhere else."""
    folder = place.folder.parent / ".ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(place.authorized, folder / "authorized_keys")
    (folder / "authorized_keys").chmod(0o600)


def _run_in(root: Path, place: Place, *command: str) -> str:
    """Run a command in a Debian that sees the place, and return what it prints."""
    ran = within(root, place.folder.parent, command)
    return subprocess.run(ran, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


_PRODUCT = "a product"
_OURS = "a library, with a small server of ours"
_ENDLESS = "port, keys, no PAM, `MaxStartups 3000:30:3000`"
_SPARED = f"{_ENDLESS}, `PerSourcePenalties no`"


def _debian_server(name: str, packaged: str, start: Callable[[Place], Started], changed: str) -> Server:
    """Return a server of a Debian package: `packaged` is its name and the release."""
    package, release = packaged.split("/")

    def version_of() -> str:
        return package_version(release, package)

    return Server(name, start, version_of, lambda: f"Debian's package of {release}", _PRODUCT, changed)


SERVERS = (
    _debian_server("OpenSSH 9.2", "openssh-server/bookworm", partial(_openssh, "bookworm"), _ENDLESS),
    _debian_server("OpenSSH 10.0", "openssh-server/trixie", partial(_openssh, "trixie"), _SPARED),
    _debian_server("OpenSSH 10.6", "openssh-server/sid", partial(_openssh, "sid"), _SPARED),
    _debian_server("Dropbear 2022", "dropbear-bin/bookworm", partial(_dropbear, "bookworm"), "port, keys"),
    _debian_server("Dropbear 2026", "dropbear-bin/sid", partial(_dropbear, "sid"), "port, keys"),
    _debian_server("TinySSH", "tinysshd/sid", _tinyssh, "behind `tcpserver`, with OpenSSH's `sftp-server`"),
    _debian_server(
        "ProFTPD mod_sftp", "proftpd-core/bookworm", _proftpd, "port, keys, 100 channels, an own list of users"
    ),
    Server(
        "libssh",
        _libssh,
        partial(package_version, "sid", "libssh-4"),
        lambda: "Debian's package of sid; the example by `gcc -O2`",
        "a library, with the server of its examples",
        "port, keys",
    ),
    Server(
        "asyncssh",
        partial(_program, lambda: (sys.executable, _SSH / "asyncssh_server.py")),
        lambda: version("asyncssh"),
        lambda: f"CPython {platform.python_version()}, cryptography {version('cryptography')}",
        _OURS,
        "port, keys, which are read once: with the names of their files, each login reads them",
    ),
    Server(
        "Go x/crypto/ssh",
        partial(_program, lambda: (go_server(),)),
        lambda: f"{go_module_version('golang.org/x/crypto')}, pkg/sftp {go_module_version('github.com/pkg/sftp')}",
        lambda: f"Go {go_version()}, `go build`, CGO_ENABLED=0",
        _OURS,
        "port, keys",
    ),
    Server(
        "russh",
        _russh,
        lambda: f"{crate_version('russh')}, russh-sftp {crate_version('russh-sftp')}",
        lambda: f"Debian's Rust {rust_version()}, `cargo build --release`, aws-lc-rs",
        _OURS,
        "port, keys",
    ),
    Server(
        "Apache MINA SSHD",
        partial(_program, _java),
        mina_version,
        java_version,
        _OURS,
        "port, keys",
        is_slow_at_first=True,
    ),
)
"""All servers."""
