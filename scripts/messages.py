"""Write tests/golden/messages: each sentence that the product can say, with an example in place of each value.

The sentences are read from the source, so none can be forgotten: f-strings, and literals of several words. Values are
examples by the name of the expression that makes them, in the format that the sentence has; where the name says too
little, the expression's own words stand in their place. Descriptions of fields are not among them: the reference pages
have those.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("contract", "operator", "workers", "targets", "gateway")
OUT: Final = ROOT / "tests/golden/messages"

_LEAST_WORDS = 3
_PLACEHOLDER: Final = re.compile(r"\{(?P<name>[A-Za-z_]\w*|)(?::(?P<how>[^{}]*))?\}")
_EXAMPLES: Final = {
    "address": "192.0.2.7",
    "code": 255,
    "count": 12_345,
    "counted": 12_345,
    "error": "Connection refused",
    "field": "spec.target.external",
    "host": "bastion.example.com",
    "kex": "curve25519-sha256",
    "kind": "SSHLoadTest",
    "library": "ssh2-python",
    "limit": 1_000,
    "line": 7,
    "name": "quickstart",
    "namespace": "default",
    "needed": 299,
    "number": 3,
    "outcome": "connectTimeout",
    "path": "/home/load/file",
    "percentile": 99,
    "pod": "quickstart-worker-0",
    "port": 2201,
    "process": "sshd",
    "reason_of": "Connection refused",
    "role": "the target's private key (id)",
    "seconds": 12.3456,
    "setting": "10:30:100",
    "status": 503,
    "step": "login",
    "strerror": "No such file or directory",
    "test": "quickstart",
    "threshold": "p99 of login below 1 s",
    "user": "load",
    "version": "OpenSSH_10.3",
    "where": "known_hosts line 7",
    "worker": 2,
}
_NUMBER = 1234.5678
_COUNT = 12_345


def sentences(source: str) -> list[str]:
    """Return each sentence of a module once, with examples for its values, in the order of the module."""
    tree = ast.parse(source)
    apart, filled = set(_apart(tree)), _filled(tree)
    texts = [_text(node) for node in ast.walk(tree) if node not in apart and _is_text(node)]
    found = dict.fromkeys(
        " ".join(_PLACEHOLDER.sub(lambda match: _example(match, filled), text).split())
        for text in texts
        if "\n" not in text.strip()  # else it is a file
    )
    return [text for text in found if len(text.split()) >= _LEAST_WORDS]


def _filled(tree: ast.AST) -> set[str]:
    """Return the placeholders that calls of `format` in a module fill: names, and "" for a position."""
    filled: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            filled |= {word.arg for word in node.keywords if word.arg} | {"" for _ in node.args}
    return filled


def _example(placeholder: re.Match[str], filled: set[str]) -> str:
    name, how = placeholder["name"], placeholder["how"] or ""
    if name not in filled:
        return placeholder[0]
    return format(_NUMBER, how) if how else str(_EXAMPLES.get(name, f"<{name or 'value'}>"))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _apart(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what is no message: docstrings, annotations, patterns, and the parts of f-strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield from (part for part in ast.walk(node) if part is not node and not _stands_alone(part, node))
        elif isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            yield from ast.walk(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield from ast.walk(node.returns)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            yield from ast.walk(node)


def _stands_alone(part: ast.AST, whole: ast.JoinedStr) -> bool:
    """Return whether a text within a value of an f-string is a sentence of its own, as one of two alternatives."""
    return _is_text(part) and part not in whole.values and not isinstance(part, ast.FormattedValue)


def _text(node: ast.AST) -> str:
    """Return the text of an f-string or a literal."""
    values = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(
        _shown(one) if isinstance(one, ast.FormattedValue) else str(getattr(one, "value", "")) for one in values
    )


def _shown(part: ast.FormattedValue) -> str:
    how = "" if part.format_spec is None else _text(part.format_spec)
    name = _name(part.value)
    example = _EXAMPLES.get(name)
    if how and (example is None or isinstance(example, str)):
        example = _COUNT if how in {",", "d", ",d"} else 0.1234 if how.endswith("%") else _NUMBER
    if example is None:
        return f"<{name}>"
    try:
        return format(example, how)
    except ValueError:  # a width of text
        return f"<{name}>"


def _name(value: ast.expr) -> str:
    """Return the word of an expression that says the most of it: the last attribute, or the function's name."""
    name = "value"
    match value:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            pass
        case ast.Call(func=ast.Name(id="str" | "shown" | "repr" | "ascii" | "min" | "max" | "abs"), args=[only, *_]):
            name = _name(only)
        case ast.Call(func=inner) | ast.Subscript(value=inner) | ast.IfExp(body=inner) | ast.BoolOp(values=[inner, *_]):
            name = _name(inner)
        case ast.Constant(value=str(name)):
            pass
    return name.strip("_") or "value"


def room_of(path: Path) -> str:
    """Return the name of the file that has a module's sentences: that of its package, and in the operator its room."""
    package, *rooms = path.relative_to(ROOT).parts[1:]
    return ".".join([package, *rooms[:-1]][:2])


def golden() -> dict[str, str]:
    """Return the content of each file, by its name."""
    texts: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found = sentences(path.read_text(encoding="utf-8"))
            if found:
                lines = texts.setdefault(f"{room_of(path)}.txt", [])
                lines += [f"# {path.relative_to(ROOT)}", *sorted(found), ""]
    return {name: "\n".join(lines) for name, lines in texts.items()}


def main() -> None:
    """Write the files, and take away those that nothing says any more."""
    made = golden()
    for path in OUT.glob("sshload_*.txt"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (OUT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
