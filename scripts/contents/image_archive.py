"""The files of an image, read from an OCI archive (opencontainers/image-spec, image-layout.md and layer.md)."""

import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

_REMOVED = ".wh."
_REMOVED_ALL = ".wh..wh..opq"


@dataclass(frozen=True, slots=True)
class Image:
    """An image for one architecture. `files` has the wanted files by their paths, without a slash in front."""

    digest: str
    created: datetime
    architecture: str
    files: dict[str, bytes]


def read_image(archive: Path, wanted: Callable[[str], bool]) -> Image:
    """Return the archive's only image with the files whose paths are wanted."""
    with tarfile.open(archive) as layout:
        (entry,) = _json(layout, "index.json")["manifests"]
        manifest = _json(layout, _blob(entry["digest"]))
        config = _json(layout, _blob(manifest["config"]["digest"]))
        files: dict[str, bytes] = {}
        for layer in manifest["layers"]:
            _apply(files, _changes(_opened(layout, _blob(layer["digest"])), wanted))
    return Image(entry["digest"], datetime.fromisoformat(config["created"]), config["architecture"], files)


def _blob(digest: str) -> str:
    algorithm, value = digest.split(":")
    return f"blobs/{algorithm}/{value}"


def _opened(layout: tarfile.TarFile, name: str) -> BinaryIO:
    opened = layout.extractfile(name)
    if opened is None:
        raise ValueError(f"{name} of {layout.name!r} is not a file: is this an OCI archive?")
    return opened  # type: ignore[return-value]  # typeshed has it as IO[bytes]


def _json(layout: tarfile.TarFile, name: str) -> Any:
    return json.load(_opened(layout, name))


def _changes(blob: BinaryIO, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes | None]]:
    """Yield the changes of a layer: a path with its new content, or with None if it is removed with all in it."""
    with tarfile.open(fileobj=blob) as layer:
        for member in layer:
            path = PurePosixPath(member.name.removeprefix("./").removeprefix("/"))
            if path.name == _REMOVED_ALL:
                yield str(path.parent), None
            elif path.name.startswith(_REMOVED):
                yield str(path.with_name(path.name.removeprefix(_REMOVED))), None
            elif member.isfile() and wanted(str(path)):
                content = layer.extractfile(member)
                yield str(path), content.read() if content else b""


def _apply(files: dict[str, bytes], changes: Iterator[tuple[str, bytes | None]]) -> None:
    added = {}
    for path, content in changes:
        if content is not None:
            added[path] = content
            continue
        for old in [old for old in files if old == path or old.startswith(f"{path}/")]:
            del files[old]
    files |= added
