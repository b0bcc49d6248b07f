"""The search for a canary in a local run: in its processes and files while it runs, and in what it leaves."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

from canary import KEY_MARKS, Canary
from local_cli import Started, metrics, start

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


def _marked(mark: str) -> list[Path]:
    """Return the processes below /proc whose environment has the mark of a run."""
    every = (path for path in Path("/proc").iterdir() if path.name.isdigit())
    return [path for path in every if mark.encode() in _read(path / "environ")]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
