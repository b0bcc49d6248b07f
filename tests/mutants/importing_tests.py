"""Which tests import a module most directly, found by the imports of the product, of the tests and of their support."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("contract", "operator", "workers", "targets", "gateway")
_LAYERS = ("unit", "golden", "simulation", "integration")
"""Layers whose tests run without a cluster, those first that take least."""
_FEWEST_FILES, _MOST_FILES = 12, 20
_CONFTEST = "conftest.py"


def importing(path: str) -> tuple[str, ...]:
    """Return test files that import a module, the most direct first; none if no test does.

    Those of one step more are added until there are enough, then unit tests only. Of those of the same step, such come
    first as import little else.
    """
    graph = _graph()
    reached, found = {path}, frozenset({path})
    tests: list[_Test] = []
    while found and len(tests) < _FEWEST_FILES:
        ring = sorted((graph.tests[one] for one in found if one in graph.tests), key=_Test.distance)
        tests += [test for test in ring if test.layer == _LAYERS[0]] if tests else ring
        found = frozenset(one for file in found for one in graph.importers.get(file, ())) - reached
        reached |= found
    return tuple(test.path for test in tests[:_MOST_FILES])


@dataclass(frozen=True, slots=True)
class _Test:
    path: str
    imports: int

    @property
    def layer(self) -> str:
        return self.path.split("/")[1]

    def distance(self) -> tuple[int, int, str]:
        return _LAYERS.index(self.layer), self.imports, self.path


@dataclass(frozen=True, slots=True)
class _Graph:
    importers: Mapping[str, frozenset[str]]
    """By each file, by its path below the root, those that import it."""
    tests: Mapping[str, _Test]


@cache
def _graph() -> _Graph:
    tests = [path for layer in _LAYERS for path in _modules(f"tests/{layer}")]
    product = {_name(path, 1): path for package in PRODUCT for path in _modules(package)}
    support = {path.stem: path for path in _modules("tests/support")}
    named = {**support, **product}
    importers: dict[str, set[str]] = {}
    found = {}
    for path in (*tests, *named.values()):
        imported = set(_imported(path, named))
        if path.name.startswith("test_"):
            found[_below_root(path)] = _Test(_below_root(path), len(imported))
            imported |= {folder / _CONFTEST for folder in path.parents if (folder / _CONFTEST).exists()}
        for one in imported:
            importers.setdefault(_below_root(one), set()).add(_below_root(path))
    return _Graph({path: frozenset(those) for path, those in importers.items()}, found)


def _imported(path: Path, named: Mapping[str, Path]) -> Iterator[Path]:
    """Yield the files that a file imports, of a package its `__init__`."""
    names: Iterable[str]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = (f"{node.module}.{one.name}" for one in node.names)
            yield from (named[name] if name in named else named[node.module] for name in names if _is_one(name, named))
        elif isinstance(node, ast.Import):
            yield from (named[one.name] for one in node.names if one.name in named)


def _is_one(name: str, named: Mapping[str, Path]) -> bool:
    return name in named or name.rpartition(".")[0] in named


def _modules(folder: str) -> list[Path]:
    return sorted((_ROOT / folder).rglob("*.py"))


def _name(path: Path, below: int) -> str:
    """Return the name that a file is imported by, from so many folders below the root."""
    parts = path.relative_to(_ROOT).with_suffix("").parts[below:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _below_root(path: Path) -> str:
    return str(path.relative_to(_ROOT))
