"""Each room of the product can be taken away: its folder, and its line in the table that lists it, and nothing else."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from os import environ
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("contract", "operator", "workers", "targets", "gateway")
LIBRARIES = "contract/sshload_contract/client.py"
CLIENTS = "workers/sshload_worker/clients"
CHANNELS = "operator/sshload_operator/control/channels"
# The worker's modules first: Locust patches the process as it is imported.
USE_ALL = """
import importlib, pkgutil, sys
from pathlib import Path
for name in ("sshload_worker", "sshload_target", "sshload_contract", "sshload_gateway", "sshload_operator"):
    package = importlib.import_module(name)
    assert Path.cwd() in Path(package.__file__).parents, package
    for one in pkgutil.walk_packages(package.__path__, f"{name}."):
        if not one.name.endswith(".__main__") and ".migrations" not in one.name:
            importlib.import_module(one.name)
from sshload_operator.cli.validate import check
assert all([check(Path(one)) for one in sys.argv[1:]])
from importlinter.cli import lint_imports
assert not lint_imports(no_cache=True)
"""


@dataclass(frozen=True)
class Room:
    """Where a room is, the lines that list it, and the word by which an example uses it."""

    path: str
    table: str
    lines: str
    word: str


def client(folder: str, member: str, word: str) -> Room:
    """Return the room of a client library."""
    return Room(f"{CLIENTS}/{folder}", LIBRARIES, rf"    {member} = \(\n.*?\n    \)\n", word)


def channel(name: str) -> Room:
    """Return the room of a channel."""
    lines = rf"from \S+\.{name} import \w+\n|\"{name}\": \w+(, )?"
    return Room(f"{CHANNELS}/{name}.py", f"{CHANNELS}/__init__.py", lines, name)


ROOMS = {
    "paramiko": client("paramiko", "PARAMIKO", "paramiko"),
    "asyncssh": client("asyncssh", "ASYNCSSH", "asyncssh"),
    "MINA SSHD": client("mina", "MINA_SSHD", "mina-sshd"),
    "webhook": channel("webhook"),
    "slack": channel("slack"),
}
USUAL = {"paramiko", "MINA SSHD", "slack"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "room",
    [pytest.param(room, id=name, marks=() if name in USUAL else pytest.mark.full) for name, room in ROOMS.items()],
)
def test_without_a_room_and_its_line_all_else_is_imported_validated_and_within_its_walls(
    room: Room, tmp_path: Path
) -> None:
    for name in (*PACKAGES, "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path, table = tmp_path / room.path, tmp_path / room.table
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    left, deleted = re.subn(room.lines, "", table.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert deleted
    table.write_text(left, encoding="utf-8")
    examples = [one for one in (tmp_path / "examples").glob("*.yaml") if room.word not in one.read_text("utf-8")]
    assert len(examples) > 20
    where = ":".join(str(tmp_path / name) for name in PACKAGES)
    done = subprocess.run(
        [sys.executable, "-c", USE_ALL, *examples],
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": where, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
