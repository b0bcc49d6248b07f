"""Small images as OCI archives, for what reads them."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

CREATED = "2026-09-18T00:00:00Z"


def write_image(archive: Path, layers: Iterable[Mapping[str, str | bytes]]) -> None:
    """Write an image for amd64. A layer is its files' contents by their paths, whiteouts among them."""
    blobs: dict[str, bytes] = {}

    def add(content: bytes) -> dict[str, str]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"digest": f"sha256:{digest}"}

    manifest = {
        "config": add(json.dumps({"created": CREATED, "architecture": "amd64"}).encode()),
        "layers": [add(gzip.compress(_tar(layer), mtime=0)) for layer in layers],
    }
    index = {"manifests": [add(json.dumps(manifest).encode())]}
    archive.write_bytes(_tar({"index.json": json.dumps(index), **blobs}))


def _tar(files: Mapping[str, str | bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for path, text in files.items():
            content = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(path)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return written.getvalue()
