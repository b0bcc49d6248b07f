"""Prepares in the background what tests need, while layers that do not need it already run."""

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

from testing.layers import ROOT, Need, Service

_LIMIT_S = 40 * 60
_NEEDS_ROOT = 77
"""The exit code of a command that only root can run."""
_SERVICE_START_LIMIT_S = 10 * 60
_SERVICE_END_LIMIT_S = 5 * 60


class PreparationError(Exception):
    """A command that prepares what tests need failed. The message names it, and `output` is what it said."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class RootNeededError(PreparationError):
    """An ordinary user cannot prepare it. The message says so."""


@dataclass(slots=True)
class Preparation:
    """The needs, prepared one after the other, in their order, in a thread of its own."""

    needs: tuple[Need, ...]
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each need took."""
    waited_s: float = 0.0
    """How long layers have waited, for all needs together."""
    _variables: dict[str, dict[str, str]] = field(default_factory=dict)
    _errors: dict[str, PreparationError] = field(default_factory=dict)
    _done: dict[str, threading.Event] = field(default_factory=dict)

    def start(self) -> None:
        """Begin."""
        self._done = {need.name: threading.Event() for need in self.needs}
        threading.Thread(target=self._prepare, daemon=True).start()

    def environment(self, needs: Sequence[Need]) -> dict[str, str]:
        """Wait until these needs are prepared. Return the environment for what needs them: it has only their variables.

        Raises PreparationError if one of them failed, RootNeededError if only root can prepare it.
        """
        began = time.monotonic()
        for need in needs:
            self._done[need.name].wait()
            if need.name in self._errors:
                raise self._errors[need.name]
        self.waited_s += time.monotonic() - began
        return {**os.environ, **{name: value for need in needs for name, value in self._variables[need.name].items()}}

    def _prepare(self) -> None:
        for need in self.needs:
            began = time.monotonic()
            with tempfile.TemporaryFile("w+") as said:
                try:
                    self._variables[need.name] = variables(self._output(need, said))
                except (OSError, subprocess.SubprocessError) as error:
                    self._errors[need.name] = _explained(need, error, _content(said))
                print(_content(said), end="", file=sys.stderr, flush=True)
            self.seconds[need.name] = time.monotonic() - began
            self._done[need.name].set()

    def _output(self, need: Need, said: IO[str]) -> Iterable[str]:
        environment = dict(os.environ)
        for known in self._variables.values():
            environment |= known
        done = subprocess.run(
            need.command,
            cwd=ROOT,
            env=environment,
            check=True,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            timeout=_LIMIT_S,
        )
        return done.stdout.splitlines()


def _explained(need: Need, error: Exception, said: str) -> PreparationError:
    if isinstance(error, subprocess.CalledProcessError) and error.returncode == _NEEDS_ROOT:
        return RootNeededError(f"preparing {need.name} needs root", said)
    return PreparationError(f"preparing {need.name} failed: {error}", said)


def _content(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def variables(lines: Iterable[str]) -> dict[str, str]:
    """Return the variables of lines NAME=VALUE that are quoted for a shell; other lines are ignored."""
    found = {}
    for line in lines:
        name, separator, value = line.partition("=")
        if separator and name.isidentifier():
            found[name] = "".join(shlex.split(value))
    return found


@contextlib.contextmanager
def serving(services: Iterable[Service], environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Run services, and yield the environment with the variables that they print.

    Raises PreparationError if one of them does not start.
    """
    with contextlib.ExitStack() as running:
        grown = dict(environment)
        for service in services:
            grown |= _start(service, grown, running)
        yield grown


def _start(service: Service, environment: Mapping[str, str], running: contextlib.ExitStack) -> dict[str, str]:
    process = subprocess.Popen(
        service.command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    running.callback(_end, process)
    timer = threading.Timer(_SERVICE_START_LIMIT_S, process.kill)
    timer.start()
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    line = process.stdout.readline()
    timer.cancel()
    if not line:
        raise PreparationError(f"{service.name} did not start: exit code {process.wait()}")
    return variables([line])


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        process.communicate(timeout=_SERVICE_END_LIMIT_S)  # closes its standard input
    if process.poll() is None:
        process.kill()
        process.wait()
