"""The files that ConfigMaps hold for the workers, in a local run: named by an option, or in the test's own file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sshload_contract.names import ConfigMapFile

from sshload_operator.api.load_test_file import read_manifests
from sshload_operator.local.credentials import readable
from sshload_operator.local.sshd import LocalRunError

_NAMESPACE = "default"


def file_paths(
    wanted: Mapping[str, ConfigMapFile], given: Mapping[str, Path], test_file: Path, namespace: str, folder: Path
) -> Mapping[str, str]:
    """Return where each wanted file is, by what the workers call it.

    One that is not `given` is taken from the ConfigMap in `test_file`, and written into `folder`. Raises LocalRunError
    if there is none, or if one is given that the test does not want.
    """
    for name in given.keys() - wanted.keys():
        raise LocalRunError(f"{option(name)} is given, and the test does not use it")
    return {
        name: readable(given[name]) if name in given else str(_extracted(name, file, test_file, namespace, folder))
        for name, file in wanted.items()
    }


def option(name: str) -> str:
    """Return the option of the command line that names such a file."""
    return f"--{Path(name).stem}"


def _extracted(name: str, wanted: ConfigMapFile, test_file: Path, namespace: str, folder: Path) -> Path:
    text = _text(wanted, test_file, namespace)
    if text is None:
        raise LocalRunError(
            f"the test uses {wanted.key} of the ConfigMap {wanted.config_map}: give it with {option(name)} FILE, or"
            f" add the ConfigMap to {test_file}"
        )
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _text(wanted: ConfigMapFile, test_file: Path, namespace: str) -> str | None:
    for document in read_manifests(test_file):
        if _is_it(document, wanted.config_map, namespace or _NAMESPACE):
            text = (document.get("data") or {}).get(wanted.key)
            return text if isinstance(text, str) else None
    return None


def _is_it(document: Any, name: str, namespace: str) -> bool:
    if not isinstance(document, dict) or document.get("kind") != "ConfigMap":
        return False
    metadata = document.get("metadata") or {}
    return metadata.get("name") == name and (metadata.get("namespace") or _NAMESPACE) == namespace
