"""The locustfile of a local run: a file that was named, or what stands in a ConfigMap of the test's own file."""

from pathlib import Path
from typing import Any

import yaml

from sshload_operator.api.spec import LocustfileRef
from sshload_operator.local.credentials import readable
from sshload_operator.local.sshd import LocalRunError

_NAMESPACE = "default"


def locustfile_path(
    wanted: LocustfileRef | None, given: Path | None, test_file: Path, namespace: str, folder: Path
) -> str:
    """Return where the locustfile is, empty where the test has none.

    Without a `given` file, it is taken out of the ConfigMap that stands beside the test in `test_file`, and written
    into `folder`. Raises LocalRunError where there is none.
    """
    if wanted is None:
        if given is not None:
            raise LocalRunError("a locustfile is given, and spec.scenario.locustfile asks for none")
        return ""
    if given is not None:
        return readable(given)
    text = _text(wanted, test_file, namespace)
    if text is None:
        raise LocalRunError(
            f"the scenario is the locustfile {wanted.key} of the ConfigMap {wanted.config_map}: say where it is, with "
            f"--locustfile FILE, or let the ConfigMap stand in {test_file} too"
        )
    path = folder / "locustfile.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def _text(wanted: LocustfileRef, test_file: Path, namespace: str) -> str | None:
    for document in yaml.safe_load_all(test_file.read_text(encoding="utf-8")):
        if _is_it(document, wanted.config_map, namespace or _NAMESPACE):
            text = (document.get("data") or {}).get(wanted.key)
            return text if isinstance(text, str) else None
    return None


def _is_it(document: Any, name: str, namespace: str) -> bool:
    if not isinstance(document, dict) or document.get("kind") != "ConfigMap":
        return False
    metadata = document.get("metadata") or {}
    return metadata.get("name") == name and (metadata.get("namespace") or _NAMESPACE) == namespace
