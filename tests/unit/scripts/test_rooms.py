"""Each room of the product can be taken away: its folders, its lines in the tables that list it, and nothing else."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
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
    if not any(Path.cwd().glob(f"*/{name}")):
        continue
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
    """Where a room is, the lines that list it, by the file of the table, and the word by which an example uses it."""

    paths: tuple[str, ...]
    lines: Mapping[str, str]
    word: str


def client(folder: str, member: str, word: str) -> Room:
    """Return the room of a client library."""
    return Room((f"{CLIENTS}/{folder}",), {LIBRARIES: rf"    {member} = \(\n.*?\n    \)\n"}, word)


def channel(name: str) -> Room:
    """Return the room of a channel."""
    lines = rf"from \S+\.{name} import \w+\n|\"{name}\": \w+(, )?"
    return Room((f"{CHANNELS}/{name}.py",), {f"{CHANNELS}/__init__.py": lines}, name)


API = "operator/sshload_operator/api"
OPERATOR = "operator/sshload_operator"
GATEWAY = Room(
    (
        "gateway",
        "contract/sshload_contract/gateway_policy.py",
        f"{CLIENTS}/gateway",
        "workers/sshload_worker/scenario/gateway_sessions.py",
        *(f"{API}/targets/{name}.py" for name in ("gateway", "gateway_rules", "managed_gateway")),
        f"{OPERATOR}/manifests/gateway.py",
        f"{OPERATOR}/local/gateway.py",
        f"{OPERATOR}/world/gateway_secrets.py",
        f"{OPERATOR}/control/run/caller_token.py",
    ),
    {
        "contract/sshload_contract/vocabulary.py": r"    GATEWAY = \"gateway\"\n",
        "contract/sshload_contract/wire/run_config.py": (
            r"@dataclass\(frozen=True, slots=True\)\nclass GatewayEndpoint:.*?\n\n\n| \| GatewayEndpoint"
        ),
        "workers/sshload_worker/scenario/target_sessions.py": r"\"gateway\": \"[^\"]+\"",
        f"{OPERATOR}/state.py": r"    GATEWAY = \(\n.*?\n    \)\n",
        f"{API}/targets/__init__.py": r"from [^\n]+ GatewayTarget\n| \| GatewayTarget",
        f"{API}/targets/managed.py": (
            r"from [^\n]+ ManagedGateway\n|    gateway: ManagedGateway \| None\n"
            r"|        Rule\(\n +\"[^\n]*has\(self\.gateway\).*?\n        \),\n"
        ),
        f"{API}/spec_rules.py": r", gateway_rules\b|gateway_rules,",
        f"{API}/status/results.py": (
            r"@dataclass\([^\n]+\)\nclass GatewayResult.*?\n\n\n|    InPath.GATEWAY: GatewayResult,\n"
            r"|    gateway: GatewayResult[^\n]+\n"
        ),
        f"{API}/status/installed.py": r"    gateway: [^\n]+\n",
        f"{OPERATOR}/planning/installation.py": r"    gateway_(image|resources)[:=][^\n]+\n",
        f"{OPERATOR}/manifests/in_path.py": r"from [^\n]+ GATEWAY\n|, InPath.GATEWAY: GATEWAY",
        f"{OPERATOR}/local/target.py": r"from [^\n]+ local_gateway\n|    InPath.GATEWAY: local_gateway,\n",
        f"{OPERATOR}/control/run/cluster_world.py": (
            r"from [^\n]+ make_gateway_secrets\n|InPath.GATEWAY: make_gateway_secrets"
        ),
        "pyproject.toml": (
            r", \"sshload_gateway\"| \| sshload_gateway| \| gateway_policy"
            r"|    \"sshload_operator\.api\.targets\.gateway(_rules)?\",\n"
            r"|\[\[tool\.importlinter\.contracts\]\]\nname = \"in the gateway, .*?(?=\n\[|\Z)"
        ),
    },
    "gateway",
)
ROOMS = {
    "paramiko": client("paramiko", "PARAMIKO", "paramiko"),
    "asyncssh": client("asyncssh", "ASYNCSSH", "asyncssh"),
    "MINA SSHD": client("mina", "MINA_SSHD", "mina-sshd"),
    "webhook": channel("webhook"),
    "slack": channel("slack"),
    "gateway": GATEWAY,
}
USUAL = {"paramiko", "MINA SSHD", "slack", "gateway"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "room",
    [pytest.param(room, id=name, marks=() if name in USUAL else pytest.mark.full) for name, room in ROOMS.items()],
)
def test_without_a_room_and_its_lines_all_else_is_imported_validated_and_within_its_walls(
    room: Room, tmp_path: Path
) -> None:
    for name in (*PACKAGES, "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for path in (tmp_path / path for path in room.paths):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for table, lines in room.lines.items():
        left, deleted = re.subn(lines, "", (tmp_path / table).read_text(encoding="utf-8"), flags=re.DOTALL)
        assert deleted, table
        (tmp_path / table).write_text(left, encoding="utf-8")
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
