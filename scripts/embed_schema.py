"""Write the parts of the CRDs that stand in several places: each part has one source, and the rest follows it.

A place is marked by two comments, `# PART: written by scripts/embed_schema.py` and `# end of PART`. What stands between
them is replaced by the part, at the comments' own indentation. The parts are:

- `pod placement`: the fields under `properties` in scripts/pod-placement.yaml.
- `SSHLoadTest.spec as NAME`: the schema of SSHLoadTest's spec, as it stands in crds/sshloadtests.yaml, under NAME.
- `SSHLoadTest.spec as a merge patch`: the `properties` of a patch of such a spec.

The chart's copies of the CRDs follow.
"""

import re
from collections.abc import Callable
from pathlib import Path

import yaml
from merge_patch_schema import merge_patch_schema

ROOT = Path(__file__).resolve().parents[1]
CRDS = ROOT / "crds"
CHART_CRDS = ROOT / "charts/sshload/files/crds"
TESTS = CRDS / "sshloadtests.yaml"
POD_PLACEMENT = ROOT / "scripts/pod-placement.yaml"

_SPEC = re.compile(r"^( +)spec:\n((?:\1 .*\n|\n)+)(?=\1status:\n)", re.MULTILINE)
_PLACE = re.compile(
    r"^(?P<indent> +)(?P<begin># (?P<part>[^:\n]+): written by scripts/embed_schema\.py\n)"
    r"(?:.*\n)*?(?P=indent)(?P<end># end of (?P=part)\n)",
    re.MULTILINE,
)
_SPEC_AS_FIELD = re.compile(r"SSHLoadTest\.spec as (\w+)")

Part = Callable[[str], str | None]
"""Returns the text of the part of a name, without indentation; None where it knows no such part."""


def embedded(text: str, *parts: Part) -> str:
    """Return a CRD's text with every part in its places, but for those that `parts` do not know."""

    def place(match: re.Match[str]) -> str:
        found = next((known for part in parts if (known := part(match["part"])) is not None), None)
        if found is None:
            return match[0]
        indent = match["indent"]
        lines = "".join(f"{indent}{line}" if line.strip() else line for line in found.splitlines(keepends=True))
        return f"{indent}{match['begin']}{lines}{indent}{match['end']}"

    return _PLACE.sub(place, text)


def pod_placement(name: str) -> str | None:
    """Return the fields that say where pods run, if that is the part's name."""
    if name != "pod placement":
        return None
    return _yaml(yaml.safe_load(POD_PLACEMENT.read_text(encoding="utf-8"))["properties"])


def spec_of(tests: str) -> Part:
    """Return the parts that hold the schema of a spec, of this text of SSHLoadTest's CRD."""
    found = _SPEC.search(tests)
    if found is None:
        raise ValueError("no schema of a spec, followed by that of a status")
    below = len(found[1])
    lines = "".join(line[below:] if line.strip() else line for line in found[2].splitlines(keepends=True))

    def part(name: str) -> str | None:
        field = _SPEC_AS_FIELD.fullmatch(name)
        if field is not None:
            return f"{field[1]}:\n{lines}"
        if name == "SSHLoadTest.spec as a merge patch":
            return _yaml({"properties": merge_patch_schema(yaml.safe_load(lines))["properties"]})
        return None

    return part


def written() -> dict[Path, str]:
    """Return the text of every CRD as it is to be."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(CRDS.glob("*.yaml"))}
    texts[TESTS] = embedded(texts[TESTS], pod_placement)
    spec = spec_of(texts[TESTS])
    return {path: text if path == TESTS else embedded(text, spec) for path, text in texts.items()}


def main() -> None:
    """Write all CRDs, and copy them into the chart."""
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
        (CHART_CRDS / path.name).write_text(text, encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Writes what stands in several places anew in each of them: kubectl shall find no anchors."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def _yaml(value: object) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100)


if __name__ == "__main__":
    main()
