"""The compiled methods of dataclasses that an image and `.venv` keep, made and used by processes of their own."""

import json
import marshal
import subprocess
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

_KEEP = """
import sys
from pathlib import Path
from sshload_contract import compiled_methods
compiled_methods.keep(Path(sys.argv[1]))
"""

_USE = """
import dataclasses, importlib, json, marshal, pkgutil, sys
from pathlib import Path
from sshload_contract import compiled_methods
compiled_methods.use(Path(sys.argv[1]))
package = importlib.import_module("sshload_contract")
methods = {}
for module in pkgutil.walk_packages(package.__path__, "sshload_contract."):
    for name, kind in vars(importlib.import_module(module.name)).items():
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == module.name:
            for method in ("__init__", "__eq__", "__hash__", "__setattr__"):
                code = getattr(vars(kind).get(method), "__code__", None)
                if code is not None:
                    text = marshal.dumps(code.replace(co_filename=""), 2).hex()
                    methods[f"{module.name}.{name}.{method}"] = [code.co_filename, text]
compiled_methods.forget()
print(json.dumps(methods))
"""

_STARTS = """
import json, sys
from sshload_contract import compiled_methods
imported = []
compiled_methods.use = lambda: imported.extend(name for name in sys.modules if name.startswith("sshload_"))
import {module}
print(json.dumps(imported))
"""


def read(file: Path) -> tuple[str, dict[str, bytes]]:
    python, codes = marshal.loads(file.read_bytes())  # noqa: S302 - written by this test
    return python, codes


def printed(program: str, *arguments: Path) -> str:
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as an image has it, but that its code says it is from `kept`."""
    file = tmp_path_factory.mktemp("methods") / "compiled"
    printed(_KEEP, file)
    python, codes = read(file)
    marked = {text: marshal.dumps(as_from("kept", code_in(kept))) for text, kept in codes.items()}
    file.write_bytes(marshal.dumps((python, marked)))
    return file


def code_in(kept: bytes) -> CodeType:
    code = marshal.loads(kept)  # noqa: S302 - likewise
    assert isinstance(code, CodeType)
    return code


def as_from(name: str, code: CodeType) -> CodeType:
    inner = tuple(as_from(name, value) if isinstance(value, CodeType) else value for value in code.co_consts)
    return code.replace(co_filename=name, co_consts=inner)


def methods(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed(_USE, file))
    assert len(found) > 100
    return found


def sources(found: dict[str, Any]) -> set[str]:
    return {source for source, _ in found.values()}


@pytest.mark.slow
def test_each_method_that_is_taken_from_the_file_is_the_one_that_would_be_compiled(file: Path, tmp_path: Path) -> None:
    taken, compiled = methods(file), methods(tmp_path / "none")
    assert "kept" not in sources(compiled)
    made = {name for name, (source, _) in compiled.items() if source == "<string>"}
    assert {name for name, (source, _) in taken.items() if source == "kept"} == made
    assert {name: text for name, (_, text) in taken.items()} == {name: text for name, (_, text) in compiled.items()}


def test_the_file_can_be_made_before_python_has_compiled_a_module(tmp_path: Path) -> None:
    folder = tmp_path / "__pycache__"
    printed(_KEEP, folder / "compiled")
    assert [path.name for path in folder.iterdir()] == ["compiled"]
    assert len(read(folder / "compiled")[1]) > 100


def test_a_file_of_another_python_is_not_used(file: Path, tmp_path: Path) -> None:
    _, codes = read(file)
    other = tmp_path / "other"
    other.write_bytes(marshal.dumps(("2.7", codes)))
    assert "kept" not in sources(methods(other))


@pytest.mark.parametrize("begin", [0, 100], ids=["empty", "cut off"])
@pytest.mark.parametrize("rest", [b"", b"\0" * 512], ids=["", "zeros"])
def test_an_incomplete_file_is_not_used(file: Path, tmp_path: Path, begin: int, rest: bytes) -> None:
    incomplete = tmp_path / "incomplete"
    incomplete.write_bytes(file.read_bytes()[:begin] + rest)
    assert "kept" not in sources(methods(incomplete))


@pytest.mark.slow
def test_a_text_that_the_file_does_not_have_is_compiled(file: Path, tmp_path: Path) -> None:
    python, codes = read(file)
    half = tmp_path / "half"
    half.write_bytes(marshal.dumps((python, dict(list(codes.items())[::2]))))
    found = methods(half)
    assert {"kept", "<string>"} <= sources(found)
    assert found.keys() == methods(file).keys()


@pytest.mark.parametrize("package", ["sshload_worker", "sshload_target"])
def test_a_process_that_starts_with_each_test_uses_the_file_before_it_imports_the_contract(package: str) -> None:
    imported = json.loads(printed(_STARTS.format(module=f"{package}.__main__")))
    assert sorted(imported) == sorted(
        ["sshload_contract", "sshload_contract.compiled_methods", package, f"{package}.__main__"]
    )
