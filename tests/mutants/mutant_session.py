"""Runs the mutants of one module inside of pytest: each in a fork of a process that has collected the tests.

Within functions, a mutant's code takes the place of the code of the functions that tests have imported already. What
else a module has (constants, defaults, fields of classes) is copied by others when they are imported: such a mutant is
forked before anything of the product is imported, and so are those that survived.
"""

import ast
import functools
import gc
import importlib
import importlib.abc
import importlib.util
import json
import mmap
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.machinery import ModuleSpec
from os import _exit
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import hypothesis
import pytest
from bounded_fork import Fork, OwnTime, run_in_fork
from mutant_changes import Module, Mutant

JOB = "SSHLOAD_MUTANTS_JOB"
"""The variable with the path of the job: module, path, results; and what to run from the start, if anything."""
_KILLED, _SURVIVED, _NOT_CHANGED = 1, 0, 3
_LEAST_LIMIT_S = 3.0
_TIMES_AS_LONG = 8
_LIMIT_FROM_THE_START_S = 60.0
_LIMIT_WITHOUT_CHANGE_S = 300.0
_OURS = ("sshload_",)


class Session:
    """The mutants of one module, in one pytest session."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._path = Path(job["path"])
        self._module = Module(self._path)
        self._mutants = list(self._module.mutants())
        self._has_failed = False
        self._functions: dict[tuple[str, int], list[FunctionType]] = {}
        self._caches: list[Any] = []
        self._results_path = Path(job["results"])
        self._results = self._results_path.open("a", encoding="utf-8")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Look for no smaller example of a failure; and fork here, before imports, what is to be run from the start."""
        same = hypothesis.settings.get_profile("same")
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", same, phases=phases, database=None)
        hypothesis.settings.load_profile("mutants")
        if self._job.get("wanted"):
            self._run_from_the_start(session)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """In a fork from the start, run the tests that reach the mutant, the fastest first."""
        if self._job.get("tests"):
            places = {name: place for place, name in enumerate(self._job["tests"])}
            items[:] = sorted((one for one in items if one.nodeid in places), key=lambda one: places[one.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the mutants in place of the tests."""
        if self._job.get("wanted"):
            return None
        reached = self._baseline(session.items)
        self._write(kind="modules", names=[name for name in sys.modules if not _is_ours(name, sys.modules[name])])
        items = {item.nodeid: item for item in session.items}
        self._find_what_is_changed()
        first = self._codes(compile(self._module.tree, str(self._path), "exec"))
        for number, mutant in enumerate(self._mutants):
            if not re.search(self._job["only"], mutant.was):
                continue
            code = self._compiled(mutant)
            codes = {} if code is None else self._codes(code)
            if code is None or all(_is_alike(first.get(key), one) for key, one in codes.items()):
                continue
            tests = self._tests(mutant, reached)
            if not mutant.is_in_function:
                self._tell(number, "from the start", tests=tests)
                continue
            chosen = [(items[name], reached[name][1]) for name in tests]
            if not chosen:
                self._tell(number, "not reached")
                continue
            changed = {key: one for key, one in codes.items() if not _is_alike(first.get(key), one)}
            limits_s = [max(_LEAST_LIMIT_S, _TIMES_AS_LONG * takes_s) for _, takes_s in chosen]
            began = time.monotonic()
            outcome = run_in_fork(partial(self._run, [item for item, _ in chosen], changed), limits_s, _KILLED)
            self._tell(number, _word(outcome), tests=tests, seconds=time.monotonic() - began)
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """End a fork from the start. Python would wait for threads first: with gevent, for one that was not forked."""
        if self._job.get("tests"):
            _exit(_KILLED if exitstatus else _SURVIVED)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hear how a part of a test ended."""
        self._has_failed |= report.failed

    def _fails(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        self._has_failed = False
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._has_failed

    def _compiled(self, mutant: Mutant) -> CodeType | None:
        undo = mutant.make()
        try:
            return compile(ast.fix_missing_locations(self._module.tree), str(self._path), "exec")
        except (SyntaxError, ValueError, TypeError):
            return None
        finally:
            undo()

    def _tests(self, mutant: Mutant, reached: dict[str, tuple[set[int], float]]) -> list[str]:
        """Return the tests that reach a mutant, the fastest first; all, if it is outside of functions."""
        lines = set(range(mutant.lines[0], mutant.lines[1] + 1))
        found = [name for name, (seen, _) in reached.items() if not mutant.is_in_function or seen & lines]
        return sorted(found, key=lambda name: reached[name][1])

    def _run(self, items: Sequence[pytest.Item], changed: dict[tuple[str, int], CodeType], child: Fork) -> int:
        """Run tests with changed functions. Return whether one of them failed."""
        is_changed = False
        for key, new in changed.items():
            for function in self._functions.get(key, ()):
                if len(new.co_freevars) == len(function.__code__.co_freevars):
                    function.__code__, is_changed = new, True
        if not is_changed:
            return _NOT_CHANGED
        for one in self._caches:  # what was found without the change
            one.cache_clear()
        for place, (item, following) in enumerate(_with_next(items)):
            child.reach(place)
            if self._fails(item, following):
                return _KILLED
        return _SURVIVED

    def _find_what_is_changed(self) -> None:
        """Find the functions of the module that tests have imported, and all caches of results, once for all forks."""
        gc.unfreeze()  # tests/conftest.py has frozen what was imported, and frozen objects are not told
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename == str(self._path):
                key = (one.__code__.co_qualname, one.__code__.co_firstlineno)
                self._functions.setdefault(key, []).append(one)
            elif isinstance(one, functools._lru_cache_wrapper):
                self._caches.append(one)
        gc.freeze()

    def _baseline(self, items: Sequence[pytest.Item]) -> dict[str, tuple[set[int], float]]:
        """Return of each test that passes which lines of the module it reaches, and how long it takes."""
        noted = self._results_path.with_name("reached")

        def run(child: Fork) -> int:
            clock = OwnTime(os.getpid())
            most_lines = self._path.read_bytes().count(b"\n") + 2
            with noted.open("w", encoding="utf-8") as rows:
                for place, (item, following) in enumerate(_with_next(items)):
                    child.reach(place)
                    lines = mmap.mmap(-1, most_lines)  # shared with forks of the test
                    began_s = clock.now_s()
                    with _traced(str(self._path), lines):
                        failed = self._fails(item, following)
                    reached = [number for number, is_reached in enumerate(lines[:]) if is_reached]
                    row = {"name": item.nodeid, "lines": reached, "failed": failed}
                    rows.write(json.dumps({**row, "seconds": clock.now_s() - began_s}) + "\n")
                    rows.flush()
            return 0

        if run_in_fork(run, [_LIMIT_WITHOUT_CHANGE_S] * len(items), _KILLED) != 0:
            self._write(kind="broken", name="the run without any change")
        reached = {}
        for row in map(json.loads, noted.read_text(encoding="utf-8").splitlines()):
            if row["failed"]:
                self._write(kind="broken", name=row["name"])
            else:
                reached[row["name"]] = (set(row["lines"]), row["seconds"])
        return reached

    def _run_from_the_start(self, session: pytest.Session) -> None:
        """Fork each of the wanted mutants here. In the fork, return: it collects and runs its tests."""
        for name in self._job["modules"]:
            with suppress(Exception):
                importlib.import_module(name)
        for wanted in self._job["wanted"]:
            mutant = self._mutants[wanted["number"]]
            code = self._compiled(mutant)
            assert code is not None
            child = Fork()
            if child.is_child:
                self._job["tests"] = wanted["tests"]
                session.config.args[:] = dict.fromkeys(name.partition("::")[0] for name in wanted["tests"])
                sys.meta_path.insert(0, _Loaded(self._job["module"], code))
                _forget_ours()
                session.config.option.maxfail = 1
                return
            began = time.monotonic()
            limit_s = _LIMIT_FROM_THE_START_S + _TIMES_AS_LONG * wanted["seconds"]
            self._tell(wanted["number"], _word(child.wait([limit_s])), seconds=time.monotonic() - began)
        self._results.flush()
        _exit(0)

    def _codes(self, code: CodeType) -> dict[tuple[str, int], CodeType]:
        """Return the code of all functions, also those inside of others, by name and first line."""
        found = {}
        for one in code.co_consts:
            if isinstance(one, CodeType):
                found[one.co_qualname, one.co_firstlineno] = one
                found |= self._codes(one)
        return found if code.co_name != "<module>" else {("<module>", 0): code, **found}

    def _tell(self, number: int, outcome: str, *, tests: Sequence[str] = (), seconds: float = 0.0) -> None:
        mutant = self._mutants[number]
        self._write(
            kind="mutant",
            number=number,
            line=mutant.line,
            within=mutant.within,
            was=mutant.was,
            becomes=mutant.becomes,
            outcome=outcome,
            tests=list(tests),
            seconds=round(seconds, 3),
        )

    def _write(self, **row: Any) -> None:
        self._results.write(json.dumps(row) + "\n")
        self._results.flush()


class _Loaded(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the mutant in place of the module."""

    def __init__(self, name: str, code: CodeType) -> None:
        self._name, self._code = name, code

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return where the mutant comes from; None for all other modules."""
        if fullname != self._name:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert found is not None
        found.loader = self
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Run the mutant's code."""
        exec(self._code, vars(module))  # noqa: S102


def _is_ours(name: str, module: ModuleType) -> bool:
    """Whether a module is of the product or of its tests: those have to be imported with the mutant."""
    file = getattr(module, "__file__", None) or ""
    return name.startswith(_OURS) or name == "__main__" or ("site-packages" not in file and "/tests/" in file)


def _forget_ours() -> None:
    """Let all of the product be imported again, with what imports it."""
    kept = {name for name in sys.modules if name.startswith(("mutant_", "conftest"))}
    for name, module in list(sys.modules.items()):
        if _is_ours(name, module) and name not in kept and name != "__main__":
            del sys.modules[name]


def _is_alike(one: CodeType | None, other: CodeType) -> bool:
    """Whether code does the same, apart from functions inside of it, which are compared by themselves."""
    if one is None:
        return False
    mine, others = (
        (code.co_code, code.co_names, code.co_varnames, code.co_exceptiontable, _values(code)) for code in (one, other)
    )
    return mine == others


def _values(code: CodeType) -> list[str]:
    return [repr(one) for one in code.co_consts if not isinstance(one, CodeType)]


def _word(outcome: int | None) -> str:
    words = {None: "killed by time", _SURVIVED: "survived", _NOT_CHANGED: "from the start"}
    return words.get(outcome, "killed")


def _with_next(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


class _traced:  # noqa: N801 - it reads as what it does
    """Notes the lines of one file that run meanwhile, in all threads: a byte of each is set."""

    def __init__(self, path: str, lines: mmap.mmap) -> None:
        self._path, self._lines = path, lines

    def __enter__(self) -> None:
        threading.settrace(self._called)
        sys.settrace(self._called)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        return self._ran if frame.f_code.co_filename == self._path else None

    def _ran(self, frame: FrameType, _event: str, _argument: object) -> Any:
        self._lines[frame.f_lineno] = 1
        return self._ran


def pytest_configure(config: pytest.Config) -> None:
    """Take part in the session that the job asks for."""
    job = json.loads(Path(os.environ[JOB]).read_text(encoding="utf-8"))
    config.pluginmanager.register(Session(job), "mutants of one module")
