"""The heads of ssh-library/patches/*.patch: what each patches, which flaws it fixes, and whose work it is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FLAW = re.compile(r"CVE-\d+-\d+|GHSA(?:-[0-9a-z]{4}){3}")


@dataclass(frozen=True, slots=True)
class PatchHead:
    """One patch. `flaws` are CVE and GHSA numbers; `mends_a_flaw` is also true if the flaw has no number yet."""

    file: str
    patched: str
    subject: str
    flaws: tuple[str, ...]
    mends_a_flaw: bool
    is_upstreams: bool


def read_heads(folder: Path) -> Iterator[PatchHead]:
    """Yield the patches of a folder in the order in which they apply."""
    for path in sorted(folder.glob("*.patch")):
        head = path.read_text(encoding="utf-8").partition("\n---\n")[0]
        lines = dict(line.split(": ", 1) for line in head.splitlines() if re.match(r"(Subject|Fixes|Origin): ", line))
        patched, subject = lines["Subject"].split(": ", 1)
        origin = lines.get("Origin", "")
        yield PatchHead(
            file=path.name,
            patched=patched,
            subject=subject,
            flaws=tuple(_FLAW.findall(lines.get("Fixes", ""))),
            mends_a_flaw="Fixes" in lines,
            is_upstreams="upstream commit" in origin and not origin.startswith("written for this project"),
        )
