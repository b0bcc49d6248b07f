"""Options that several commands share, and the values that options take."""

import math
import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from sshload_contract.allow_list import AllowedTarget, entry_problem

from sshload_operator.api.names import is_name

_HOST_AND_PORT = re.compile(r"(?:\[(?P<bracketed>[^\[\]]+)\]|(?P<plain>[^:\[\]]+))(?::(?P<port>\d{1,5}))?")
_MAX_PORT: Final = 65_535
FORMATS: Final = ("table", "json", "yaml", "junit", "markdown", "csv")
FILE: Final = click.Path(path_type=Path)

F = TypeVar("F", bound=Callable[..., Any])


def allowed_target(text: str) -> AllowedTarget:
    """Return the external target that HOST, HOST:PORT or [ADDRESS]:PORT allows; raises ValueError."""
    found = _HOST_AND_PORT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not HOST, HOST:PORT or [ADDRESS]:PORT")
    port = found["port"]
    if port is not None and not 0 < int(port) <= _MAX_PORT:
        raise ValueError(f"{port} is not a port")
    host = found["bracketed"] or found["plain"]
    problem = entry_problem(host)
    if problem:
        raise ValueError(problem)
    return AllowedTarget(host=host, ports=() if port is None else (int(port),))


def host_and_file(text: str) -> tuple[str, Path]:
    """Return the two parts of HOST=FILE; raises ValueError."""
    host, equals, file = text.partition("=")
    if not (host and equals and file):
        raise ValueError(f"{text!r} is not HOST=FILE")
    return host, Path(file)


def moment(text: str) -> datetime:
    """Return the time that a text such as 2026-11-16T09:00 or 2026-11-16 09:00+01:00 says; raises ValueError."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise ValueError(f"{text!r} is not a time such as 2026-11-16T09:00") from None


def seconds(text: str) -> float:
    """Return the number of seconds in a text; raises ValueError unless it is finite and at least 0."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise ValueError(f"{text!r} is not a number of seconds such as 600; without it there is no limit")
    return found


class Parsed(click.ParamType[Any]):
    """A value that `read` makes of a text; it raises ValueError, which says what is wrong."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value, or end with what is wrong with it."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _NewFile(click.Path):
    """The path of a file in a directory that exists, so that no run is lost to a wrong path."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or end with what is wrong with it."""
        folder = Path(value).parent
        if not folder.is_dir():
            self.fail(f"there is no directory {folder}: make it first", param, ctx)
        return super().convert(value, param, ctx)


NEW_FILE: Final = _NewFile()
output: Final = partial(
    click.option,
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to print the result.",
)
verbose: Final = partial(click.option, "-v", "--verbose", is_flag=True, help="Show every row of the result.")


def object_name(text: str) -> str:
    """Return the name of an object or of a namespace; raises ValueError if no object can have it."""
    if not is_name(text):
        raise ValueError(f"{text!r} is not the name of an object")
    return text


def cluster_options(function: F) -> F:
    """Add the options for the cluster and the namespace, as kubectl has them."""
    for option in (
        click.option(
            "-n", "--namespace", type=Parsed("NAMESPACE", object_name), help="The namespace. [default: the context's]"
        ),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            default="",
            help="The kubeconfig. [default: KUBECONFIG, else ~/.kube/config]",
        ),
        click.option("--context", default="", help="The context. [default: the kubeconfig's current one]"),
    ):
        function = option(function)
    return function


def timeout(function: F) -> F:
    """Add the option --timeout, which limits how long a command waits."""
    return click.option(
        "--timeout",
        metavar="SECONDS",
        type=Parsed("SECONDS", seconds),
        help="Give up after this long. [default: never]",
    )(function)
