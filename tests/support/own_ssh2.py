"""The SSH library as the worker's image has it, compiled once by scripts/ssh2-wheel; as a program, only compile it."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_CACHE = Path(
    os.environ.get("SSHLOAD_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "sshload"),
    "ssh2",
)
_NEEDS = "cmake, gcc, libc6-dev, make, patch, python3-dev and zlib1g-dev"


def own_ssh2() -> Path:
    """Return the folder to import it from; raises RuntimeError where it cannot be compiled, which takes a minute."""
    inputs = [_ROOT / "scripts/ssh2-wheel", *_ROOT.glob("requirements/ssh2-*.txt"), *_ROOT.glob("patches/*.patch")]
    digest = hashlib.sha256(sys.version.encode() + b"".join(path.read_bytes() for path in sorted(inputs)))
    folder = _CACHE / digest.hexdigest()[:12]
    if not folder.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with (_CACHE / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():  # another process may have compiled it meanwhile
                _compile(folder)
    return folder


def import_own_ssh2() -> None:
    """Have this process and all that it starts import it, in place of the package index's."""
    folder = str(own_ssh2())
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))


def _compile(folder: Path) -> None:
    print("compiling ssh2-python as for the worker's image (about a minute)", file=sys.stderr)  # noqa: T201
    wheels, part = folder.with_suffix(".wheels"), folder.with_suffix(".part")
    for left in (wheels, part):
        shutil.rmtree(left, ignore_errors=True)
    command: list[str | Path] = [_ROOT / "scripts/ssh2-wheel", wheels, sys.executable]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ssh2-python cannot be compiled; it needs the Debian packages {_NEEDS}\n{done.stdout}")
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(part)
    shutil.rmtree(wheels)
    part.rename(folder)


if __name__ == "__main__":
    own_ssh2()
