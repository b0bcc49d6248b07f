"""What the servers are made of: Debian releases as folders, and programs from registries, each made once.

All of it comes from package registries by their ordinary clients, and lies in the project's cache.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from go_programs import ROOT, Go, compiled
from testing.machine import CACHE

_HERE = Path(__file__).parent
_RUSSH = _HERE / "russh_server"
_GO_MODULE = ROOT / "tests/support/ssh/go_ssh_server"
_POM = ROOT / "workers/mina-sshd/pom.xml"

_PACKAGES = ("openssh-server", "openssh-sftp-server", "dropbear-bin", "git")
_OF_BOOKWORM = ("proftpd-core", "proftpd-mod-crypto")
_OF_SID = ("tinysshd", "ucspi-tcp", "ca-certificates", "cargo", "gcc", "libc6-dev", "libssh-dev", "xz-utils")
_TRUSTING = 'mount --bind /etc/ssl/certs "$0/etc/ssl/certs"; mount -t proc proc "$0/proc"; chroot "$0" sh -euc "$1"'
PACKAGES = {"bookworm": (*_PACKAGES, *_OF_BOOKWORM), "trixie": _PACKAGES, "sid": (*_PACKAGES, *_OF_SID)}
"""The releases of Debian, and what is installed in each."""


@cache
def debian(release: str) -> Path:
    """Return the folder of a Debian release with its packages: the newest ones of the day on which it was made."""
    packages = PACKAGES[release]
    return _made(f"league-{release}", "\n".join(packages), lambda folder: _debootstrap(release, packages, folder))


def _debootstrap(release: str, packages: Sequence[str], folder: Path) -> None:
    include = f"--include={','.join(packages)}"
    subprocess.run(
        ["debootstrap", "--variant=minbase", include, release, str(folder)], check=True, stdout=subprocess.DEVNULL
    )
    (folder / "run/sshd").mkdir(parents=True, exist_ok=True)


@cache
def libssh_server() -> Path:
    """Return Debian sid with libssh's own example of a server as /usr/local/bin/libssh-server."""
    return _with_program("sid", "libssh-server", _HERE / "libssh-example", {})


@cache
def russh_server() -> Path:
    """Return Debian sid with the server by russh, compiled for release, as /usr/local/bin/russh-server."""
    sources = {name: _RUSSH / name for name in ("Cargo.toml", "Cargo.lock", "src/main.rs")}
    return _with_program("sid", "russh-server", _HERE / "russh-build", sources)


def _with_program(release: str, program: str, script: Path, sources: Mapping[str, Path]) -> Path:
    """Return a Debian in which a script has made a program, now or before, from these sources in its folder.

    Programs that fetch trust whom this machine trusts.
    """
    root = debian(release)
    made_of = hashlib.sha256(b"".join(path.read_bytes() for path in (script, *sources.values()))).hexdigest()
    told = root / f"usr/local/share/{program}.made-of"
    with (CACHE / f"league-{program}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists() or told.read_text() != made_of:
            folder = root / "usr/local/src" / program
            for name, path in sources.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, folder / name)
            command = ["unshare", "--mount", "sh", "-euc", _TRUSTING, str(root), script.read_text(encoding="utf-8")]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            told.write_text(made_of)
    return root


@cache
def go_server() -> Path:
    """Return the server in Go, compiled as `go build` does by itself."""

    def build(go: Go, made: Path) -> None:
        go.run(_GO_MODULE, "build", "-o", made / "server", ".")

    return compiled("league-go", [*_GO_MODULE.iterdir(), Path(__file__)], build) / "server"


def _made(name: str, key: str, make: Callable[[Path], None]) -> Path:
    """Return the folder that `make` has filled, now or before, for this key."""
    folder = CACHE / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with TemporaryDirectory(dir=CACHE) as own:
                made = Path(own, "made")
                made.mkdir()
                make(made)
                made.rename(folder)
    return folder


def package_version(release: str, package: str) -> str:
    """Return the version of a package of a release."""
    return _said("dpkg-query", f"--admindir={debian(release)}/var/lib/dpkg", "-W", "-f", "${Version}", package)


def go_module_version(module: str) -> str:
    """Return the version of a module that the server in Go is built from."""
    lines = (_GO_MODULE / "go.mod").read_text(encoding="utf-8").splitlines()
    return next(line.split()[-1] for line in map(str.strip, lines) if line.removeprefix("require ").startswith(module))


def crate_version(crate: str) -> str:
    """Return the version of a crate that the server by russh is built from."""
    locked = tomllib.loads((_RUSSH / "Cargo.lock").read_text(encoding="utf-8"))
    return str(next(one["version"] for one in locked["package"] if one["name"] == crate))


def mina_version() -> str:
    """Return the version of Apache MINA SSHD."""
    pom = _POM.read_text(encoding="utf-8")
    return pom.split("<artifactId>sshd-sftp</artifactId>", 1)[1].split("<version>", 1)[1].split("</version>", 1)[0]


def go_version() -> str:
    """Return the version of the compiler."""
    return _said(_said(str(ROOT / "scripts/find-go")), "env", "GOVERSION").removeprefix("go")


def rust_version() -> str:
    """Return the version of the compiler."""
    return package_version("sid", "rustc")


def java_version() -> str:
    """Return the version of the virtual machine."""
    told = subprocess.run(["java", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return told.splitlines()[0]


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ}).stdout.strip()


def commit() -> str:
    """Return the commit of the sources, which ends with -dirty where they were changed since."""
    return _said("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*")
