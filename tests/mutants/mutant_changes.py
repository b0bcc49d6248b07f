"""The changes that make mutants of a module: small ones that a person could make by mistake, one at a time.

A change is made in the syntax tree, so that lines keep their numbers. Left out is what no test should hold word for
word: texts (tests/golden/messages has them), lines of the log, annotations, decorators, and the numbers of
a module that were chosen.
"""

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Make: TypeAlias = Callable[[], Callable[[], None]]
"""Makes a change in the tree, and returns what takes it back."""

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_SWAPPED = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "ceil": "floor",
    "floor": "ceil",
    "popleft": "pop",
    "appendleft": "append",
}
_BODIES = ("body", "orelse", "handlers", "finalbody", "cases")
_SAY_ONLY = {"debug", "info", "warning", "error", "exception", "log", "_say", "cast", "TypeVar"}
_SAY_WHAT_IS_SO = ("encoding", "strict")
"""Arguments that change nothing where the system's texts are UTF-8, and where lengths are equal."""

_EFFECTS = ast.Expr | ast.Assign | ast.AugAssign | ast.Delete | ast.Raise | ast.Break | ast.Continue | ast.Return
_FEWEST = 2
"""Of so many parts at least one can be left out without the rest becoming something else."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module: where it is, the first and last line by which a test reaches it, and how it reads."""

    line: int
    lines: tuple[int, int]
    within: str
    was: str
    becomes: str
    is_in_function: bool
    make: Make


class Module:
    """The tree of a module, with the changes that can be made in it."""

    def __init__(self, path: Path) -> None:
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def mutants(self) -> Iterator[Mutant]:
        """Return all mutants, from the first line to the last."""
        nodes = [node for node in ast.walk(self.tree) if hasattr(node, "lineno") and not self._is_left_out(node)]
        for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset)):  # type: ignore[attr-defined]
            yield from (self._mutant(node, make) for make in self._changes(node))

    def _mutant(self, node: Any, make: Make) -> Mutant:
        statement, owners = self._statement(node), self._owners(node)
        was = _head(statement)
        undo = make()
        becomes = _head(statement) if self._stands(statement) else "pass"
        undo()
        last = statement.end_lineno
        if getattr(statement, "body", None):
            last = max(statement.lineno, statement.body[0].lineno - 1)
        within = ".".join(owner.name for owner in reversed(owners)) or "(module)"
        in_function = any(not isinstance(owner, ast.ClassDef) for owner in owners)
        return Mutant(node.lineno, (statement.lineno, last), within, was, becomes, in_function, make)

    def _statement(self, node: ast.AST) -> Any:
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def _stands(self, statement: ast.stmt) -> bool:
        parent = self._parents[statement]
        return any(statement in getattr(parent, name, ()) for name in (*_BODIES, "body"))

    def _owners(self, node: ast.AST) -> list[Any]:
        """Return the functions and classes whose bodies it is part of: a default belongs to what is outside."""
        owners, child, parent = [], node, self._parents.get(node)
        while parent is not None:
            is_owner = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if is_owner and child in parent.body:  # type: ignore[attr-defined]
                owners.append(parent)
            child, parent = parent, self._parents.get(parent)
        return owners

    def _is_left_out(self, node: ast.AST) -> bool:
        """Whether it is part of a decorator, an annotation, an error that is raised, or a line of the log."""
        if isinstance(node, ast.Call) and _name(node.func) in _SAY_ONLY:
            return True
        child, parent = node, self._parents.get(node)
        while parent is not None:
            if _is_no_matter(child, parent, is_itself=child is node):
                return True
            child, parent = parent, self._parents.get(parent)
        return False

    def _changes(self, node: Any) -> Iterator[Make]:
        parent = self._parents[node]
        for kind, changes in _CHANGES.items():
            if isinstance(node, kind):
                yield from changes(node, parent)


def _is_no_matter(node: ast.AST, parent: ast.AST, *, is_itself: bool) -> bool:
    if node in getattr(parent, "decorator_list", ()) or node in _notes(parent):
        return True
    if isinstance(parent, ast.Raise) and (not is_itself or isinstance(node, ast.Constant)):
        return True
    if isinstance(parent, ast.FormattedValue) and isinstance(node, ast.Constant):
        return True
    is_said = isinstance(parent, ast.Call) and _name(parent.func) in _SAY_ONLY
    is_for_types = isinstance(parent, ast.If) and _name(parent.test) == "TYPE_CHECKING"
    is_constant = isinstance(node, ast.AnnAssign) and isinstance(parent, ast.Module)
    return is_said or is_for_types or is_constant


def _notes(node: ast.AST) -> tuple[Any, Any]:
    """Return its annotation, and what it is said to return."""
    return getattr(node, "annotation", None), getattr(node, "returns", None)


def _comparisons(node: ast.Compare, _: ast.AST) -> Iterator[Make]:
    yield from _one_not_compared(node)
    for index, one in enumerate(node.ops):
        yield _set_item(node.ops, index, _COMPARED[type(one)]())


def _and_or(node: ast.BoolOp, parent: ast.AST) -> Iterator[Make]:
    yield _set(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if len(node.values) > _FEWEST:
        yield from _one_left_out(node.values)
    else:
        yield from (_instead(parent, node, one) for one in node.values)


def _calculations(node: ast.BinOp | ast.AugAssign, _: ast.AST) -> Iterator[Make]:
    is_text = any(isinstance(getattr(node, side, None), ast.JoinedStr) for side in ("left", "right"))
    if type(node.op) in _CALCULATED and not is_text:
        yield _set(node, "op", _CALCULATED[type(node.op)]())


def _negations(node: ast.UnaryOp, parent: ast.AST) -> Iterator[Make]:
    if isinstance(node.op, ast.Not):
        yield _instead(parent, node, node.operand)


def _choices(node: ast.IfExp, _: ast.AST) -> Iterator[Make]:
    yield _swap(node, "body", "orelse")


def _constants(node: ast.Constant, parent: ast.AST) -> Iterator[Make]:
    if isinstance(parent, ast.keyword) and parent.arg in _SAY_WHAT_IS_SO:
        return
    if isinstance(node.value, bool):
        yield _set(node, "value", not node.value)
    elif isinstance(node.value, int | float):
        yield _set(node, "value", node.value + 1)


def _names(node: ast.Name | ast.Attribute, _: ast.AST) -> Iterator[Make]:
    field = "id" if isinstance(node, ast.Name) else "attr"
    if getattr(node, field) in _SWAPPED:
        yield _set(node, field, _SWAPPED[getattr(node, field)])


def _collections(node: ast.Tuple | ast.List | ast.Set, parent: ast.AST) -> Iterator[Make]:
    is_matched = isinstance(parent, ast.Tuple | ast.Subscript | ast.Compare | ast.Assign | ast.comprehension)
    is_target = not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    if not is_matched and not is_target and len(node.elts) >= _FEWEST:
        yield from _one_left_out(node.elts)


def _comprehensions(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, _: ast.AST) -> Iterator[Make]:
    for generator in node.generators:
        yield from _one_left_out(generator.ifs)


def _calls(node: ast.Call, _: ast.AST) -> Iterator[Make]:
    named = [index for index, one in enumerate(node.keywords) if one.arg not in (None, *_SAY_WHAT_IS_SO)]
    yield from (_remove(node.keywords, index) for index in named)


def _slices(node: ast.Slice, _: ast.AST) -> Iterator[Make]:
    yield from (_set(node, name, None) for name in ("lower", "upper") if getattr(node, name) is not None)


def _conditions(node: ast.If | ast.While, _: ast.AST) -> Iterator[Make]:
    is_for_types = _name(node.test) == "TYPE_CHECKING"
    if isinstance(node.test, ast.Call | ast.Name | ast.Attribute | ast.NamedExpr) and not is_for_types:
        yield _set(node, "test", ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test))


def _effects(node: ast.stmt, parent: ast.AST) -> Iterator[Make]:
    """Leave a statement out that does something, other than to give a local name a value, or to be abstract."""
    if isinstance(node, ast.Expr) and (isinstance(node.value, ast.Constant) or _name(node.value) in _SAY_ONLY):
        return
    if isinstance(node, ast.Assign) and all(isinstance(one, ast.Name) for one in node.targets):
        return
    if isinstance(node, ast.Return) and node.value is not None:
        return
    if isinstance(node, ast.Delete) and all(isinstance(one, ast.Name) for one in node.targets):
        return
    if isinstance(node, ast.Raise) and node.exc is not None and _name(node.exc) == "NotImplementedError":
        return
    body = next(getattr(parent, name) for name in _BODIES if node in getattr(parent, name, ()))
    yield _set_item(body, body.index(node), ast.copy_location(ast.Pass(), node))


def _assignments(node: ast.Assign, _: ast.AST) -> Iterator[Make]:
    """Of several that are assigned to at once, leave one out."""
    targets, values = node.targets[0], node.value
    if not (isinstance(targets, ast.Tuple) and isinstance(values, ast.Tuple)):
        return
    for index, target in enumerate(targets.elts):
        if not isinstance(target, ast.Name) and len(targets.elts) == len(values.elts):
            yield _both(_remove(targets.elts, index), _remove(values.elts, index))


def _answers(node: ast.Return, _: ast.AST) -> Iterator[Make]:
    if node.value is not None and not isinstance(node.value, ast.Constant):
        yield _set(node, "value", ast.copy_location(ast.Constant(None), node))


def _suppressions(node: ast.With | ast.AsyncWith, parent: ast.AST) -> Iterator[Make]:
    if _name(node.items[0].context_expr) == "suppress":
        body = next(getattr(parent, name) for name in _BODIES if node in getattr(parent, name, ()))
        bare = ast.If(ast.Constant(value=True), node.body, [])
        yield _set_item(body, body.index(node), ast.copy_location(bare, node))


def _ends(node: ast.Try, _: ast.AST) -> Iterator[Make]:
    if node.finalbody:
        yield _set(node, "finalbody", [ast.copy_location(ast.Pass(), node.finalbody[0])])


_CHANGES: Mapping[Any, Callable[[Any, ast.AST], Iterator[Make]]] = {
    ast.Compare: _comparisons,
    ast.BoolOp: _and_or,
    ast.BinOp | ast.AugAssign: _calculations,
    ast.UnaryOp: _negations,
    ast.IfExp: _choices,
    ast.Constant: _constants,
    ast.Name | ast.Attribute: _names,
    ast.Tuple | ast.List | ast.Set: _collections,
    ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp: _comprehensions,
    ast.Call: _calls,
    ast.Slice: _slices,
    ast.If | ast.While: _conditions,
    _EFFECTS: _effects,
    ast.Assign: _assignments,
    ast.Return: _answers,
    ast.With | ast.AsyncWith: _suppressions,
    ast.Try: _ends,
}


def _head(statement: Any) -> str:
    """Return a statement as it reads, of a compound one the head."""
    shown = copy.copy(statement)
    for name in _BODIES:
        if name != "body" and hasattr(shown, name):
            setattr(shown, name, [])
    if not isinstance(getattr(shown, "body", None), list):
        return ast.unparse(shown)
    shown.body = [ast.Pass()]
    if isinstance(shown, ast.Try):
        shown.finalbody = [ast.Pass()] if not all(isinstance(one, ast.Pass) for one in statement.finalbody) else []
        shown.handlers = statement.handlers
        return " ".join(ast.unparse(shown).split()) if shown.finalbody or shown.handlers else "try without finally"
    if hasattr(shown, "decorator_list"):
        shown.decorator_list = []
    return ast.unparse(shown).removesuffix("pass").strip()


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _one_left_out(parts: list[Any]) -> Iterator[Make]:
    for index in range(len(parts)):
        yield _remove(parts, index)


def _one_not_compared(node: ast.Compare) -> Iterator[Make]:
    """Of two tuples that are compared, leave out the same part of both."""
    left, right = node.left, node.comparators[0]
    if isinstance(left, ast.Tuple) and isinstance(right, ast.Tuple) and len(left.elts) == len(right.elts) >= _FEWEST:
        for index in range(len(left.elts)):
            yield _both(_remove(left.elts, index), _remove(right.elts, index))


def _set(node: Any, field: str, value: Any) -> Make:
    def make() -> Callable[[], None]:
        before = getattr(node, field)
        setattr(node, field, value)
        return lambda: setattr(node, field, before)

    return make


def _set_item(items: list[Any], index: int, value: Any) -> Make:
    def make() -> Callable[[], None]:
        before = items[index]
        items[index] = value
        return lambda: items.__setitem__(index, before)

    return make


def _remove(items: list[Any], index: int) -> Make:
    def make() -> Callable[[], None]:
        before = items.pop(index)
        return lambda: items.insert(index, before)

    return make


def _swap(node: Any, one: str, other: str) -> Make:
    def swap() -> None:
        first, second = getattr(node, one), getattr(node, other)
        setattr(node, one, second)
        setattr(node, other, first)

    def make() -> Callable[[], None]:
        swap()
        return swap

    return make


def _both(first: Make, second: Make) -> Make:
    def make() -> Callable[[], None]:
        undo_first, undo_second = first(), second()

        def undo() -> None:
            undo_second()
            undo_first()

        return undo

    return make


def _instead(parent: ast.AST, node: ast.AST, other: ast.AST) -> Make:
    """Return what puts another node in the place of a node."""
    for name, value in ast.iter_fields(parent):
        if value is node:
            return _set(parent, name, other)
        if isinstance(value, list) and node in value:
            return _set_item(value, value.index(node), other)
    raise LookupError(ast.dump(node))
