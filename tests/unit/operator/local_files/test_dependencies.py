"""`pipx install .` installs all that a local run asks for, and each image a part of what the tests run with."""

import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sshload_contract.client import Library
from sshload_operator.local.files import LIBRARIES

ROOT = Path(__file__).parents[4]
DOCUMENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = DOCUMENT["project"], DOCUMENT["dependency-groups"]


def names(requirements: Iterable[str]) -> set[str]:
    return {canonicalize_name(Requirement(one).name) for one in requirements}


def test_every_library_that_a_local_run_wants_comes_with_the_command() -> None:
    distributions = packages_distributions()
    installed = names(PROJECT["dependencies"])
    assert "click" in installed
    for library in (*LIBRARIES, *(one for client in Library for one in client.traits.imports)):
        assert {canonicalize_name(one) for one in distributions[library]} & installed, library


def test_the_command_comes_with_what_operator_worker_and_target_take_and_nothing_else() -> None:
    assert names(PROJECT["dependencies"]) == names(
        one for group in ("cli", "operator", "worker", "target") for one in GROUPS[group]
    )


def test_the_extra_gateway_has_what_the_gateway_s_image_takes() -> None:
    assert names(PROJECT["optional-dependencies"]["gateway"]) == names(GROUPS["gateway"])


@pytest.mark.parametrize("group", ["cli", "operator", "worker", "target", "gateway"])
def test_what_an_image_takes_is_named_without_a_version_which_has_one_owner(group: str) -> None:
    assert [one for one in GROUPS[group] if Requirement(one).specifier] == []


def pins(name: str) -> set[str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if "==" in line and not line.startswith(" ")}


@pytest.mark.parametrize("group", ["build", "cli", "operator", "worker", "target", "gateway"])
def test_an_image_has_the_versions_that_the_tests_run_with(group: str) -> None:
    assert pins(group) - pins("dev") == set()
