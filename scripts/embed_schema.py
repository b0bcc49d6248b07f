"""Write the schema of SSHLoadTest's spec into the CRDs that embed it: crds/sshloadtests.yaml stays its one copy.

The places are marked by two comments: `# SSHLoadTest.spec as NAME: ...` and `# end of SSHLoadTest.spec`. What stands
between them is replaced by the schema, under NAME and at the comments' own indentation. The chart's copies follow.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CRDS = ROOT / "crds"
CHART_CRDS = ROOT / "charts/sshload/files/crds"
SOURCE = CRDS / "sshloadtests.yaml"

_SPEC = re.compile(r"^( +)spec:\n((?:\1 .*\n|\n)+)(?=\1status:\n)", re.MULTILINE)
_PLACE = re.compile(
    r"^(?P<indent> +)(?P<begin># SSHLoadTest\.spec as (?P<name>\w+):.*\n)"
    r"(?P<old>(?:.*\n)*?)(?P=indent)(?P<end># end of SSHLoadTest\.spec\n)",
    re.MULTILINE,
)


def embedded(text: str, source: str) -> str:
    """Return a CRD's text with the schema in its places; raises ValueError where the source has no spec."""
    found = _SPEC.search(source)
    if found is None:
        raise ValueError("no schema of a spec, followed by that of a status")
    below, lines = len(found[1]), found[2].splitlines()

    def place(match: re.Match[str]) -> str:
        indent, name = match["indent"], match["name"]
        schema = "".join(f"{indent}{line[below:]}\n" if line.strip() else "\n" for line in lines)
        return f"{indent}{match['begin']}{indent}{name}:\n{schema}{indent}{match['end']}"

    return _PLACE.sub(place, text)


def embedding() -> Iterator[Path]:
    """Yield the CRDs that embed the schema."""
    for path in sorted(CRDS.glob("*.yaml")):
        if _PLACE.search(path.read_text(encoding="utf-8")):
            yield path


def main() -> None:
    """Write all CRDs, and copy them into the chart."""
    source = SOURCE.read_text(encoding="utf-8")
    for path in embedding():
        path.write_text(embedded(path.read_text(encoding="utf-8"), source), encoding="utf-8")
    for path in sorted(CRDS.glob("*.yaml")):
        (CHART_CRDS / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    main()
