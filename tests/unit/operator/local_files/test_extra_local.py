"""`pipx install '.[local]'` installs all that a local run asks for."""

import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sshload_operator.local.files import CLIENT_LIBRARIES, LIBRARIES

PROJECT = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def installed_by(extra: str) -> set[str]:
    """Return the distributions that an extra of the project names, by way of other extras too."""
    named = [Requirement(one) for one in PROJECT["optional-dependencies"][extra]]
    nested = {inner for one in named if one.name == PROJECT["name"] for inner in one.extras}
    own = {canonicalize_name(one.name) for one in named if one.name != PROJECT["name"]}
    return own.union(*map(installed_by, nested))


def test_every_library_that_a_local_run_wants_is_in_the_extra() -> None:
    distributions = packages_distributions()
    extra = installed_by("local")
    assert "click" in extra
    for library in (*LIBRARIES, *(one for needed in CLIENT_LIBRARIES.values() for one in needed)):
        assert {canonicalize_name(one) for one in distributions[library]} & extra, library
