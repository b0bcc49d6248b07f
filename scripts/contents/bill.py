"""The bill of materials of an image in CycloneDX's format."""

import json
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType, Diff, Patch, PatchClassification, Pedigree
from cyclonedx.model.issue import IssueClassification, IssueType, IssueTypeSource
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from contents.image_archive import Image
from contents.locks import Lock, read_lock
from contents.packages import DebianPackage, PythonPackage, debian_packages, python_packages
from contents.patches import PatchHead, read_heads

PROJECT = "sshload"
_OWN_BUILD = "+sshload"  # as ssh-library/build-wheel names the versions that it compiles
_LINKED = {"libssh2": ("aws-lc", "zlib1g")}
_SOURCES = {
    "CVE-": ("CVE", "https://www.cve.org/CVERecord?id={}"),
    "GHSA": ("GitHub Advisory Database", "https://github.com/advisories/{}"),
}


class UnlockedError(Exception):
    """An image has a Python package that the locks do not have. The message names both."""


def bill_of_materials(component: str, image: Image, root: Path) -> str:
    """Return the bill of one image as JSON (CycloneDX 1.6): the same for the same image, locks and patches.

    `image` has the files that list packages, `root` is the folder of the project that the image was built from. Raises
    UnlockedError.
    """
    lock = read_lock(*sorted((root / "requirements").glob("*.txt")))
    packages = tuple(python_packages(image.files))
    patches = tuple(read_heads(root / "ssh-library/patches"))
    parts = {package.name: _python(package, lock, patches) for package in packages}
    debian = {package.name: _debian(package) for package in debian_packages(image.files)}

    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, image.digest))
    bom.metadata.timestamp = image.created
    bom.metadata.component = _container(component, parts[PROJECT].version or "", image)
    bom.components.update(parts.values(), debian.values())
    bom.register_dependency(bom.metadata.component, (*parts.values(), *debian.values()))
    for package in packages:
        own = parts[package.name]
        required = [parts[name] for name in package.requires if name in parts]
        bom.register_dependency(own, (*required, *own.components))
        by_name = debian | {inner.name: inner for inner in own.components}
        for inner in own.components:
            bom.register_dependency(inner, [by_name[name] for name in _LINKED.get(inner.name, ())])
    return JsonV1Dot6(bom).output_as_string(indent=1)


def _container(component: str, version: str, image: Image) -> Component:
    return Component(
        type=ComponentType.CONTAINER,
        name=f"{PROJECT}-{component}",
        version=version,
        bom_ref="image",
        purl=PackageURL("oci", None, f"{PROJECT}-{component}", image.digest, {"arch": image.architecture}),
        hashes=[_hash(image.digest.removeprefix("sha256:"))],
    )


def _debian(package: DebianPackage) -> Component:
    qualifiers = {"arch": package.architecture, "distro": "debian-13"}
    if package.source != package.name:
        qualifiers["upstream"] = package.source
    purl = PackageURL("deb", "debian", package.name, package.version, qualifiers)
    return Component(name=package.name, version=package.version, purl=purl, bom_ref=purl.to_string())


def _python(package: PythonPackage, lock: Lock, patches: Iterable[PatchHead]) -> Component:
    kind = "generic" if package.name == PROJECT else "pypi"
    purl = PackageURL(kind, None, package.name, package.version)
    own = [patch for patch in patches if patch.patched == package.name] if _OWN_BUILD in package.version else []
    return Component(
        type=ComponentType.APPLICATION if package.name == PROJECT else ComponentType.LIBRARY,
        name=package.name,
        version=package.version,
        purl=purl,
        bom_ref=purl.to_string(),
        licenses=[LicenseFactory().make_from_string(package.licence)] if package.licence else [],
        external_references=list(_archives(package, lock)),
        pedigree=_pedigree(own),
        components=[*_libraries(package, purl), *_compiled(package, purl, patches)],
    )


def _archives(package: PythonPackage, lock: Lock) -> Iterator[ExternalReference]:
    if package.name == PROJECT:
        return
    released = package.version.partition(_OWN_BUILD)[0]
    hashes = lock.get((package.name, released))
    if not hashes:
        raise UnlockedError(f"the image has {package.name} {released}, which requirements/ do not lock: build it again")
    yield ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(PackageURL("pypi", None, package.name, released).to_string()),
        comment="the archives that the lock allows, one of which was installed",
        hashes=map(_hash, hashes),
    )


def _hash(value: str) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=value)


def _libraries(package: PythonPackage, purl: PackageURL) -> Iterator[Component]:
    for path, digest in package.libraries.items():
        yield Component(type=ComponentType.FILE, name=path, hashes=[_hash(digest)], bom_ref=f"{purl}#{path}")


def _compiled(package: PythonPackage, purl: PackageURL, patches: Iterable[PatchHead]) -> Iterator[Component]:
    """Yield the components of the package's own bills, with our patches if ssh-library/build-wheel compiled it."""
    for bill in package.bills:
        brought = Bom.from_json(json.loads(bill))  # type: ignore[attr-defined]  # a class decorator adds it
        for inner in brought.components:
            if _OWN_BUILD in package.version:
                inner.pedigree = _pedigree([patch for patch in patches if patch.patched == inner.name])
            _name_anew(inner, f"{purl}#{inner.name}@{inner.version}")
            yield inner


def _name_anew(component: Component, reference: str) -> None:
    """Give a component of another bill, and all in it, references that do not collide with those of this bill."""
    component.bom_ref.value = reference
    for inner in component.components:
        _name_anew(inner, f"{reference}/{inner.name}@{inner.version}")


def _pedigree(patches: Iterable[PatchHead]) -> Pedigree | None:
    found = [
        Patch(
            type=PatchClassification.BACKPORT if patch.is_upstreams else PatchClassification.UNOFFICIAL,
            diff=Diff(url=XsUri(f"ssh-library/patches/{patch.file}")),
            resolves=_mended(patch),
        )
        for patch in patches
    ]
    return Pedigree(patches=found) if found else None


def _mended(patch: PatchHead) -> Iterator[IssueType]:
    if patch.mends_a_flaw and not patch.flaws:
        yield IssueType(type=IssueClassification.SECURITY, name=patch.subject)
    for flaw in patch.flaws:
        name, page = _SOURCES[flaw[:4]]
        source = IssueTypeSource(name=name, url=XsUri(page.format(flaw)))
        yield IssueType(type=IssueClassification.SECURITY, id=flaw, name=patch.subject, source=source)
