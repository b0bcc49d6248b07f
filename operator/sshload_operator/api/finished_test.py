"""A finished test out of a file: what `sshload run -o json` or `kubectl get -o json` has printed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sshload_operator.api.errors import SpecError
from sshload_operator.api.kinds import TEST


def read_finished_test(path: Path) -> Mapping[str, Any]:
    """Return the SSHLoadTest of a JSON file, with its status; raises SpecError, and OSError where it is unreadable."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SpecError(str(path), f"is not JSON: {error}. sshload run -o json prints it") from error
    if not isinstance(found, dict) or found.get("kind") != TEST.name:
        raise SpecError(str(path), f"is no {TEST.name}. sshload run -o json prints one")
    parts = (found.get("metadata"), found.get("spec"), found.get("status"))
    if not all(isinstance(part, dict) for part in parts) or not isinstance(found["metadata"].get("name"), str):
        raise SpecError(str(path), "has no name, spec or status. sshload run -o json prints all of them")
    return found
