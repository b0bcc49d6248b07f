"""The packages in an image: Debian's by dpkg's list, Python's by their metadata (PEP 376, PEP 770)."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from pathlib import PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_DPKG = "var/lib/dpkg/status"
_METADATA = re.compile(r"site-packages/[^/]+\.dist-info/METADATA$")
_BUNDLED_LIBRARY = re.compile(r"site-packages/(?P<package>[^/]+)\.libs/[^/]+$")
_BILL = re.compile(r"\.dist-info/sboms/[^/]+\.json$")
_LICENSE_CLASSIFIER = "License :: OSI Approved :: "


def tells_of_packages(path: str) -> bool:
    """Tell whether this module reads a file of an image."""
    return path == _DPKG or any(form.search(path) for form in (_METADATA, _BUNDLED_LIBRARY, _BILL))


@dataclass(frozen=True, slots=True)
class DebianPackage:
    """An installed Debian package, and the source package that it was made from."""

    name: str
    version: str
    architecture: str
    source: str


@dataclass(frozen=True, slots=True)
class PythonPackage:
    """An installed distribution. `licence` is an SPDX expression or a name; `bills` are the SBOMs that it contains.

    `libraries` has the SHA-256 of shared libraries that were put into the wheel, by their paths in site-packages.
    """

    name: str
    version: str
    licence: str
    requires: frozenset[str]
    libraries: Mapping[str, str]
    bills: tuple[bytes, ...]


def debian_packages(files: Mapping[str, bytes]) -> Iterator[DebianPackage]:
    """Yield the installed packages of dpkg's list."""
    for paragraph in files[_DPKG].split(b"\n\n"):
        fields = BytesParser().parsebytes(paragraph.strip() + b"\n")
        if str(fields["Status"]).endswith(" installed"):
            source = str(fields.get("Source", fields["Package"])).partition(" ")[0]
            yield DebianPackage(fields["Package"], fields["Version"], fields["Architecture"], source)


def python_packages(files: Mapping[str, bytes]) -> Iterator[PythonPackage]:
    """Yield the installed distributions by their names."""
    for path in sorted(filter(_METADATA.search, files), key=str.lower):
        fields = BytesParser().parsebytes(files[path], headersonly=True)
        folder = str(PurePosixPath(path).parent)
        name = canonicalize_name(fields["Name"])
        yield PythonPackage(
            name=name,
            version=fields["Version"],
            licence=_licence(fields),
            requires=frozenset(_required(fields)),
            libraries=dict(_libraries(files, name)),
            bills=tuple(files[bill] for bill in sorted(files) if bill.startswith(f"{folder}/sboms/")),
        )


def _licence(fields: Message) -> str:
    classified = [
        line.removeprefix(_LICENSE_CLASSIFIER)
        for line in fields.get_all("Classifier", [])
        if line.startswith(_LICENSE_CLASSIFIER)
    ]
    written = str(fields.get("License", ""))
    short = written if "\n" not in written else ""  # some put the whole text here
    return str(fields.get("License-Expression", "")) or short or " AND ".join(classified)


def _required(fields: Message) -> Iterator[str]:
    for line in fields.get_all("Requires-Dist", []):
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def _libraries(files: Mapping[str, bytes], name: str) -> Iterator[tuple[str, str]]:
    for path, content in sorted(files.items()):
        found = _BUNDLED_LIBRARY.search(path)
        if found and canonicalize_name(found["package"]) == name:
            yield path.partition("site-packages/")[2], hashlib.sha256(content).hexdigest()
