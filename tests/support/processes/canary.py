"""Canaries: credentials that nothing else looks like, and the one search for them, in whatever form they appear.

A text is looked for as it is, in base64 (wherever in a longer text it began) and in hexadecimal; a private key as the
bytes that are its secret, in the same forms and as Python prints bytes, and by the marks of a private key's file.

The search for a canary in a local run: in its processes and files while it runs, and in what it leaves.
"""

import base64
import secrets
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from local_cli import Ended, Started, metrics, start, wait_until
from sshload_contract.population import Population, read_population

KEY_MARKS = (b"PRIVATE KEY-----", base64.b64encode(b"openssh-key-v1\0").rstrip(b"=")[:-1])
_BASE64_GROUP = 3
_LINE = 70
_PUBLIC = 3
"""So many lines of a key's file, its first included, say what every such file says, and the public key."""

_LARGEST_FILE_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Canary:
    """Secret bytes by the name of the credential that they are of, as `password` or `private key`."""

    planted: Mapping[str, bytes]

    def found_in(self, place: str, content: bytes | str) -> list[str]:
        """Return a sentence for each credential that stands in the content of a place, with the form that it has."""
        data = content.encode() if isinstance(content, str) else content
        joined = b"".join(data.split())  # base64 in lines
        seen = {
            name: next((form for form, text in _forms(secret) if text in data or text in joined), "")
            for name, secret in self.planted.items()
        }
        return [f"{place} has the {name} as {form}" for name, form in seen.items() if form]

    def found_by_others(self, folders: Iterable[Path]) -> list[str]:
        """Return a sentence for each file below the folders that has a credential and that another user could read.

        Folders above those that are given count as open to everybody.
        """
        return [
            sentence
            for folder in folders
            for path in _open_files(folder)
            for sentence in self.found_in(f"{path}, which others may read,", _content(path))
        ]


def new_text() -> str:
    """Return a password or passphrase that is like no other text."""
    return f"canary-{secrets.token_hex(16)}"


def new_key(path: Path, passphrase: str = "") -> Mapping[str, bytes]:
    """Make a private key for ssh at a path, and return what is secret of it."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return secrets_of_key(path.read_bytes(), passphrase)


def secrets_of_key(data: bytes, passphrase: str = "") -> Mapping[str, bytes]:
    """Return what is secret of a file with an Ed25519 key in OpenSSH's format: the key, and the lines that it is in."""
    key = load_ssh_private_key(data, passphrase.encode() or None)
    assert isinstance(key, Ed25519PrivateKey)
    lines = enumerate(data.splitlines(), start=1)
    whole = {f"private key's line {number}": line for number, line in lines if len(line) == _LINE and number > _PUBLIC}
    return {"private key": key.private_bytes_raw(), **whole}


def _forms(secret: bytes) -> Iterator[tuple[str, bytes]]:
    yield "it is", secret
    yield "hexadecimal", secret.hex().encode()
    yield "hexadecimal in capitals", secret.hex().upper().encode()
    yield "Python prints it", repr(secret)[2:-1].encode()
    for before in range(_BASE64_GROUP):
        # The first group has bits of what stands before the secret, the last one of what stands behind it.
        whole = base64.b64encode(b"\0" * before + secret)
        last = -4 if (before + len(secret)) % _BASE64_GROUP else None
        inside = whole[4 if before else 0 : last]
        yield f"base64 behind {before} others", inside
        yield f"base64 for URLs behind {before} others", inside.translate(bytes.maketrans(b"+/", b"-_"))


def _open_files(path: Path) -> Iterator[Path]:
    """Yield the files at and below a path that others may read, and through whose folders they may pass."""
    mode = _mode(path)
    if stat.S_ISDIR(mode) and mode & (stat.S_IXGRP | stat.S_IXOTH):
        for inner in list(path.iterdir()):
            yield from _open_files(inner)
    elif stat.S_ISREG(mode) and mode & (stat.S_IRGRP | stat.S_IROTH):
        yield path


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:  # it has gone while it was looked at
        return 0


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_FILE_BYTES)
    except (FileNotFoundError, PermissionError):
        return b""


_LOOK_EVERY_S = 0.05


@dataclass
class Search:
    """The search for a canary in a run of `sshload`: in its processes and files while it runs, and in what is left."""

    canary: Canary
    temporary: Path
    found: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    _searched: set[tuple[str, bytes | str]] = field(default_factory=set)

    def follow(self, started: Started) -> None:
        """Look at all processes of the run, their files and metrics, until it ends."""
        folders = {self.temporary}
        while started.process.poll() is None:
            for process in _marked(started.mark):
                for what in ("cmdline", "environ"):
                    content = _read(process / what)
                    self.note(f"the {what} of {_read(process / 'comm').decode().strip()}", content)
                self._note_metrics(process)
                with suppress(FileNotFoundError):  # some end while they are looked at
                    folders |= {cwd for cwd in [(process / "cwd").readlink()] if cwd.name.startswith("sshload-")}
            self.found.update(self.canary.found_by_others(folders))
            time.sleep(_LOOK_EVERY_S)

    def note(self, place: str, content: bytes | str) -> None:
        """Search in the content of one place."""
        self.seen.add(place)
        if (place, content) not in self._searched:  # a process has the same whenever it is looked at
            self._searched.add((place, content))
            self.found.update(self.canary.found_in(place, content))

    def _note_metrics(self, process: Path) -> None:
        words = _read(process / "cmdline").decode(errors="replace").split("\0")
        for option in ("--http-port", "--stats-port"):
            if option in words:
                try:
                    self.note("metrics", metrics(int(words[words.index(option) + 1])))
                except (OSError, HTTPException):
                    continue  # it does not serve yet, or no longer: it may end in the middle of its answer


def searched(search: Search, test: Path, logs: Path, *options: str | Path) -> dict[str, Any]:
    """Run a test, search everywhere, and return its status; fails where the canary is found."""
    logs.mkdir(exist_ok=True)
    command = ["run", test, "--output", "json", "--logs", logs, "--allow-target", "127.0.0.1", *options]
    started = start(*command, as_installed=True)
    search.follow(started)
    ended = started.wait()
    search.note("stdout", ended.out)
    search.note("stderr", ended.err)
    assert {path.name for path in logs.iterdir()} >= {"master.log", "worker-0.log", "summary.json"}, ended.err
    for path in logs.iterdir():
        content = path.read_bytes()
        search.note(path.name, content)
        assert not any(mark in content for mark in KEY_MARKS)
    looked_at = {"the cmdline of sshload", "the environ of sshload"}
    # A run that ends before its load may be over before its metrics can be read.
    has_loaded = ended.status.get("results", {}).get("iterations", 0) > 0
    assert looked_at | ({"metrics"} if has_loaded else set()) <= search.seen
    assert sorted(search.found) == []
    return ended.status


def searched_for_its_own(
    test: Path, folder: Path, temporary: Path, planted: Callable[[Started], Canary]
) -> tuple[Ended, Search]:
    """Run a test, search everywhere for what the run has made itself, and return both; fails where it is found.

    `planted` tells that, once it is made. The logs are in `folder`, below `logs`.
    """
    logs, saved = folder / "logs", folder / "saved"
    started = start("run", test, "--output", "json", "--logs", logs, "--save", saved, as_installed=True)
    search = Search(planted(started), temporary)
    search.follow(started)
    ended = started.wait()
    for name, content in {"stdout": ended.out, "stderr": ended.err, "saved": saved.read_text()}.items():
        search.note(name, content)
    for path in logs.iterdir():
        search.note(path.name, path.read_bytes())
    assert sorted(search.found) == []
    return ended, search


def key_of_run(started: Started, name: str) -> bytes:
    """Return a file of a run's keys, as soon as its target has it."""
    found: list[Path] = []

    def is_made() -> bool:
        assert started.process.poll() is None, started.said()
        folders = {Path(f"/proc/{pid}/cwd").readlink() for pid in started.process_ids("sshload_target")}
        found.extend(path for folder in folders if (path := folder / "keys" / name).exists())
        return bool(found)

    wait_until(is_made, f"the key {name} of the run")
    return found[0].read_bytes()


def population_of_run(started: Started, users: int) -> Population:
    """Return the population of a run, as soon as its target has its secret."""
    return read_population(key_of_run(started, "population").decode(), users)


def secrets_of_population(population: Population, names: Iterable[str]) -> Canary:
    """Return what nobody may see of a population, and of these of its users."""
    names = list(names)
    return Canary(
        {
            "secret of the population": population.secret,
            "password": population.password.encode(),
            **{f"key of {name}": population.key_seed(name) for name in names},
            **{f"TOTP secret of {name}": population.totp_secret(name) for name in names},
        }
    )


def _marked(mark: str) -> list[Path]:
    """Return the processes below /proc whose environment has the mark of a run."""
    every = (path for path in Path("/proc").iterdir() if path.name.isdigit())
    return [path for path in every if mark.encode() in _read(path / "environ")]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
