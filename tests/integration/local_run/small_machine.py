"""Run a command in a mount and process namespace whose folders are its own, and print what it changed, as JSON."""

import hashlib
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

_OWN = {"/etc": True, "/run": False, "/var/log": True, "/var/tmp": False, "/dev/shm": False}
"""Folders that others change meanwhile: mounts of our own in their place, with what is in them or empty."""
_WATCHED = ("/etc", "/home", "/run", "/var/log", "/var/tmp", "/dev/shm", "/dev/pts")


def main(command: list[str]) -> None:
    """Print the state before, during and after the command."""
    for place, copied in _OWN.items():
        _mount_own(place, copied=copied)
    before = _state()
    accounts: set[str] = set()
    mounts: set[str] = set()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        watch = threading.Thread(target=_watch, args=(run, accounts, mounts))
        watch.start()
        _, said = run.communicate()
        watch.join()
    if run.returncode:
        sys.exit(said)
    seen = {"before": before, "accounts": sorted(accounts), "mounts": sorted(mounts), "after": _state()}
    sys.stdout.write(json.dumps(seen))


def _mount_own(place: str, *, copied: bool) -> None:
    subprocess.run(["mount", "-n", "-t", "tmpfs", "tmpfs", "/mnt"], check=True)
    if copied:
        subprocess.run(["cp", "--archive", f"{place}/.", "/mnt/"], check=True)
    subprocess.run(["mount", "-n", "--bind", "/mnt", place], check=True)


def _watch(run: subprocess.Popen[str], accounts: set[str], mounts: set[str]) -> None:
    """Note which accounts of a run and which mounts the machine has while the command runs."""
    while run.poll() is None:
        accounts |= {line for line in Path("/etc/passwd").read_text().splitlines() if line.startswith("user0")}
        mounts |= {*_mounts()}
        threading.Event().wait(0.1)


def _state() -> dict[str, Any]:
    return {
        "files": {str(path): _told(path) for place in _WATCHED for path in _below(Path(place))},
        "mounts": _mounts(),
        "processes": sorted(int(process.name) for process in Path("/proc").iterdir() if process.name.isdecimal()),
    }


def _mounts() -> list[str]:
    return sorted(line.split(" ", 3)[3] for line in Path("/proc/self/mountinfo").read_text().splitlines())


def _below(place: Path) -> list[Path]:
    if place == Path("/home"):
        return [place, *place.iterdir()]  # people work there
    return [Path(folder) / name for folder, _, files in os.walk(place) for name in (".", *files)]


def _told(path: Path) -> list[Any]:
    found = path.lstat()
    is_file = stat.S_ISREG(found.st_mode)
    content = hashlib.sha256(path.read_bytes()).hexdigest() if is_file else ""
    return [found.st_mode, found.st_uid, found.st_gid, found.st_size, found.st_mtime_ns, content]


if __name__ == "__main__":
    main(sys.argv[1:])
