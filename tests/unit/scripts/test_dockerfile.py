"""The stages of the Dockerfile beneath the project, which `scripts/images` builds once for all sources."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = (ROOT / "scripts/images").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
(COMPONENTS,) = (found.split() for found in re.findall(r"^components=\((.*)\)$", SCRIPT, re.MULTILINE))


@dataclass(slots=True)
class Stage:
    """What one stage takes from the context of a build, and from which stages and images."""

    taken_from: set[str]
    paths: set[str] = field(default_factory=set)


def read_stages() -> dict[str, Stage]:
    """Return the stages by their names."""
    stages = {}
    for line in DOCKERFILE.splitlines():
        match line.split():
            case ["FROM", beneath, "AS", name]:
                stages[name] = stage = Stage({beneath})
            case ["COPY", *words]:
                origin = [word.removeprefix("--from=") for word in words if word.startswith("--from=")]
                stage.taken_from |= set(origin)
                stage.paths |= set() if origin else {word for word in words[:-1] if not word.startswith("--")}
            case ["RUN", *words]:
                for mount in (dict(re.findall(r"(\w+)=([^,]*)", word)) for word in words if word.startswith("--mount")):
                    stage.taken_from |= {mount["from"]} if "from" in mount else set()
                    stage.paths |= {mount["source"]} if "source" in mount and "from" not in mount else set()
    return stages


STAGES: Mapping[str, Stage] = read_stages()


def all_beneath(name: str) -> Iterator[str]:
    """Yield a stage and every stage that it takes anything from."""
    yield name
    for origin in STAGES[name].taken_from & STAGES.keys():
        yield from all_beneath(origin)


@pytest.mark.parametrize("name", ["tools", *(f"{component}-dependencies" for component in COMPONENTS)])
def test_a_stage_beneath_the_project_has_a_name_by_all_that_goes_into_it(name: str) -> None:
    """Else it would stay as it was when a file changed that it takes, for it is built once for each name."""
    (hashed,) = (found.split() for found in re.findall(r"hash_of (Dockerfile .*?);", SCRIPT))
    taken = {path for stage in all_beneath(name) for path in STAGES[stage].paths}
    assert taken
    assert {path for path in taken if path.split("/")[0] not in hashed} == set()


@pytest.mark.parametrize("component", COMPONENTS)
def test_an_image_is_its_stage_beneath_the_project_and_the_project(component: str) -> None:
    """So a change of the sources builds the stage of the project once, and of each image the thin layer above."""
    assert STAGES[component].taken_from == {f"{component}-dependencies", "project"}
    assert STAGES[component].paths == set()
    assert STAGES["project"].taken_from == {"tools"}
