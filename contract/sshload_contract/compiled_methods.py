"""The methods of this package's dataclasses, compiled when an image or `.venv` is made and not at each process's start.

`dataclass` generates the methods of a class as Python source and compiles it each time the class is created. That is a
fifth of the CPU time that a worker takes until it is ready. The compiled code depends only on the source, so it can be
cached. `python -m sshload_contract.compiled_methods` stores that of the whole package in a file beside the compiled
modules. A process that calls `use` loads it from there, and calls `forget` when it has imported what it needs. Source
that the file does not have is compiled as usual. An incomplete file, or one of another Python version, is not used.
"""

import builtins
import dataclasses
import importlib
import marshal
import pkgutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent / "__pycache__" / f"compiled_methods.{sys.implementation.cache_tag}.marshal"
_WITHOUT_REFERENCES = 2
"""The version of the marshal format in which equal code gives equal bytes, independent of other references to it."""


def use(file: Path = _FILE) -> None:
    """Make dataclasses that are created from now on load their methods from the file, if it exists and is complete."""
    try:
        python, codes = marshal.loads(file.read_bytes())  # noqa: S302 - a file of the image, as compiled modules are
    except (FileNotFoundError, EOFError, TypeError, ValueError):  # a crash of the machine may leave zeros or nothing
        return
    if python == sys.version:
        _take_from(codes)


def forget() -> None:
    """Release the file's content. Dataclasses that are created from now on are compiled as usual."""
    vars(dataclasses).pop("exec", None)


def keep(file: Path = _FILE) -> None:
    """Import the whole package and write the file. No other module of the package may have been imported before."""
    codes: dict[str, bytes] = {}

    def execute(text: str, variables: dict[str, Any], result: dict[str, Any]) -> None:
        code = compile(text, "<string>", "exec", dont_inherit=True)
        codes[text] = marshal.dumps(code, _WITHOUT_REFERENCES)
        builtins.exec(code, variables, result)  # noqa: S102 - as `dataclass` does

    vars(dataclasses)["exec"] = execute
    package = importlib.import_module("sshload_contract")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    forget()
    part = file.with_name(f"{file.name}.part")
    part.parent.mkdir(exist_ok=True)  # Python creates it only with the first compiled module
    part.write_bytes(marshal.dumps((sys.version, codes), _WITHOUT_REFERENCES))
    part.replace(file)  # a process that starts now reads the new or the old file, each complete


def _take_from(codes: Mapping[str, bytes]) -> None:
    def execute(text: str, variables: dict[str, Any], result: dict[str, Any]) -> None:
        kept = codes.get(text)
        code = text if kept is None else marshal.loads(kept)  # noqa: S302 - likewise
        builtins.exec(code, variables, result)  # noqa: S102 - as `dataclass` does

    vars(dataclasses)["exec"] = execute


if __name__ == "__main__":
    keep()
