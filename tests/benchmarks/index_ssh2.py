"""ssh2-python as the package index has it, to be measured beside the one that .venv has."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

_LOCKED = Path(__file__).parents[2] / "requirements/worker.txt"


def index_ssh2(folder: Path) -> Path:
    """Install it into `folder`, to be imported from there; return the folder."""
    found = re.search(r"^ssh2-python==(.+\n)+?(?=\S|\Z)", _LOCKED.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, _LOCKED
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as only:
        only.write(found[0])
        only.flush()
        pip = (sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:")
        subprocess.run([*pip, "--no-deps", "--require-hashes", "--target", folder, "-r", only.name], check=True)
    return folder
