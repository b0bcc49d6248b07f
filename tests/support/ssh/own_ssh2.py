"""The SSH library of these tests and of what they start: the one that scripts/ssh2-wheel compiles, as in the image."""

import subprocess
from importlib.metadata import version
from pathlib import Path

_ROOT = Path(__file__).parents[3]


def require_own_ssh2() -> None:
    """Raise RuntimeError where .venv has another one, or an older one."""
    wanted = subprocess.check_output([_ROOT / "scripts/ssh2-wheel", "--version"], text=True).strip()
    if (installed := version("ssh2-python")) != wanted:
        raise RuntimeError(f"ssh2-python is {installed} and should be {wanted}: run `make venv`")
