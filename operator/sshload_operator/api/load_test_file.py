"""Files of our kinds as people write them: YAML documents, of which those of our API group are wanted."""

import json
import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sshload_operator.api.bounded_yaml import BoundedLoader
from sshload_operator.api.kinds import API_VERSION, COMPARISON, GROUP, SCHEDULE, TEST, Kind
from sshload_operator.api.names import check_name
from sshload_operator.api.shapes.errors import SpecError

_KINDS = {kind.name: kind for kind in (TEST, SCHEDULE, COMPARISON)}
_ANY_KIND = f"{TEST.name}, {SCHEDULE.name} or {COMPARISON.name}"
_CLUSTER_ONLY = {
    SCHEDULE: (
        f"an {SCHEDULE.name}, which needs a cluster: kubectl apply it, or run its spec.testTemplate.spec "
        f"as the spec of an {TEST.name}"
    ),
    COMPARISON: (
        f"an {COMPARISON.name}, which sshload compare -f runs here, and sshload compare NAME follows in a cluster"
    ),
}
_MERGE_TAG = "tag:yaml.org,2002:merge"
STANDARD_INPUT: Final = Path("-")
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_TOP_LEVEL = ("apiVersion", "kind", "metadata", "spec", "status")


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file. `namespace` is empty where the file names none; `spec` is as it was written."""

    kind: Kind
    name: str
    namespace: str
    spec: Mapping[str, Any]


class NoObjectsError(SpecError):
    """A file has none of our objects."""


def read_load_tests(path: Path) -> tuple[Document, ...]:
    """Return the SSHLoadTests in the file; all other documents are passed over.

    Raises as `read_objects`, and SpecError where it has only other objects of ours, which says what to do with them.
    """
    objects = read_objects(path)
    tests = tuple(document for document in objects if document.kind is TEST)
    if not tests:
        raise SpecError("", f"no {TEST.name} in it, but {_CLUSTER_ONLY[objects[0].kind]}")
    return tests


def read_objects(path: Path) -> tuple[Document, ...]:
    """Return the objects of our kinds; documents of other API groups (a Secret, a Namespace) are passed over.

    Raises as `read_manifests`, and SpecError naming what is wrong with one of them, or where there is no such object.
    """
    objects = tuple(_object_of(document) for document in read_manifests(path) if is_ours(document))
    if not objects:
        raise NoObjectsError("", f"no {_ANY_KIND} of {API_VERSION} in it")
    return objects


def read_manifests(path: Path) -> tuple[Any, ...]:
    """Return the documents of a file as they are written, of whatever kind.

    `-` is the standard input, and a List stands for its items, as with kubectl. Raises SpecError if it is not YAML,
    and OSError if the file cannot be read.
    """
    try:
        text = (sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()).decode()
    except UnicodeDecodeError as error:
        raise SpecError("", f"not YAML: {error}") from error
    return tuple(one for document in _documents(text) for one in _items_of(document))


def files_in(path: Path) -> tuple[Path, ...]:
    """Return the YAML and JSON files of a directory, as kubectl takes them: not those below it. A file is itself."""
    if not path.is_dir():
        return (path,)
    return tuple(sorted(one for one in path.iterdir() if one.suffix in _SUFFIXES and one.is_file()))


def _items_of(document: Any) -> list[Any]:
    if not isinstance(document, dict) or (document.get("apiVersion"), document.get("kind")) != ("v1", "List"):
        return [document]
    items = document.get("items")
    if not isinstance(items, list):
        raise SpecError("items", "missing, expected the objects of the List")
    return items


class _UniqueKeyLoader(BoundedLoader):
    """A loader for which a repeated key is an error and not silently the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's own signature
        seen: set[Hashable] = set()
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():  # PyYAML says what else it is
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == _MERGE_TAG:
                continue
            key = self.construct_object(key_node)
            if key in seen:
                problem = f"the key {key!r} is repeated"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        value = super().construct_scalar(node)
        try:
            str(value).encode()
        except UnicodeEncodeError:
            problem = "a text has half of a surrogate pair, which is not a character"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None
        return value


def _documents(text: str) -> list[Any]:
    try:
        loaded = list(yaml.load_all(text, Loader=_UniqueKeyLoader))
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise SpecError("", f"not YAML: {where}{error.problem or error.context or 'it cannot be read'}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the latter of a date or a number that is none
        raise SpecError("", f"not YAML: {error}") from error
    except RecursionError as error:
        raise SpecError("", "not YAML that can be read: it is nested too deeply") from error
    return [document for document in loaded if document is not None]


def is_ours(document: Any) -> bool:
    """Return whether a document is of our API group; raises SpecError if it is not an object of a known kind."""
    if not isinstance(document, dict):
        raise SpecError("", f"a document is a {type(document).__name__}, expected an object")
    api_version = document.get("apiVersion")
    if not isinstance(api_version, str):
        raise SpecError("apiVersion", f"missing, expected {API_VERSION}")
    if not api_version.startswith(f"{GROUP}/"):
        return False
    if api_version != API_VERSION:
        raise SpecError("apiVersion", f"is {api_version}, expected {API_VERSION}")
    kind = document.get("kind")
    if kind is None:
        raise SpecError("kind", f"missing, expected {_ANY_KIND}")
    if kind not in _KINDS:
        raise SpecError("kind", f"is {kind!r}, expected {_ANY_KIND}")
    return True


def _object_of(document: dict[Any, Any]) -> Document:
    for key in document:
        if key not in _TOP_LEVEL:
            raise SpecError(str(key), "unknown field")
    metadata = _object(document, "metadata")
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise SpecError("metadata.name", "missing")
    check_name(name)
    namespace = metadata.get("namespace", "")
    if not isinstance(namespace, str):
        raise SpecError("metadata.namespace", "expected a string")
    return Document(kind=_KINDS[document["kind"]], name=name, namespace=namespace, spec=_object(document, "spec"))


def _object(document: dict[Any, Any], key: str) -> dict[str, Any]:
    value = document.get(key)
    if value is None:
        raise SpecError(key, "missing")
    if not isinstance(value, dict):
        raise SpecError(key, f"is a {type(value).__name__}, expected an object")
    return value


def read_finished_test(path: Path) -> Mapping[str, Any]:
    """Return the SSHLoadTest of a JSON file, with its status; raises SpecError, and OSError where it is unreadable."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SpecError(str(path), f"is not JSON: {error}. sshload run -o json prints it") from error
    except RecursionError as error:
        raise SpecError(str(path), "is nested too deeply. sshload run -o json prints what can be read") from error
    if not isinstance(found, dict) or found.get("kind") != TEST.name:
        raise SpecError(str(path), f"is no {TEST.name}. sshload run -o json prints one")
    parts = (found.get("metadata"), found.get("spec"), found.get("status"))
    if not all(isinstance(part, dict) for part in parts) or not isinstance(found["metadata"].get("name"), str):
        raise SpecError(str(path), "has no name, spec or status. sshload run -o json prints all of them")
    return found
