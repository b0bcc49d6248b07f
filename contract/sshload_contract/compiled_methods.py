"""The methods of this package's dataclasses, compiled when an image or `.venv` is made and not at each process's start.

`dataclass` writes the methods of a class as Python text and compiles it, each time that the class is made: a fifth of
the CPU that a worker takes until it is ready. The text says all that is compiled, so the code of a text can be kept.
`python -m sshload_contract.compiled_methods` keeps that of the whole package in a file beside the compiled modules; a
process that calls `use` takes it from there, and calls `forget` when it has imported what it needs. A text that the
file does not have is compiled as ever, and a file of another Python is not used.
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
"""The version of the format in which equal code is equal bytes, whatever else the process holds."""


def use(file: Path = _FILE) -> None:
    """Let the dataclasses that are made from now on take their methods from the file, if there is one."""
    try:
        python, codes = marshal.loads(file.read_bytes())  # noqa: S302 - a file of the image, as compiled modules are
    except FileNotFoundError:
        return
    if python == sys.version:
        _take_from(codes)


def forget() -> None:
    """Hold the file's content no longer: what is made from now on is compiled as ever."""
    vars(dataclasses).pop("exec", None)


def keep(file: Path = _FILE) -> None:
    """Import the whole package and write the file; nothing of the package may have been imported yet."""
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
    part.parent.mkdir(exist_ok=True)  # Python makes it with the first module that it compiles
    part.write_bytes(marshal.dumps((sys.version, codes), _WITHOUT_REFERENCES))
    part.replace(file)  # a process that starts now reads the whole file, or the one before it


def _take_from(codes: Mapping[str, bytes]) -> None:
    def execute(text: str, variables: dict[str, Any], result: dict[str, Any]) -> None:
        kept = codes.get(text)
        code = text if kept is None else marshal.loads(kept)  # noqa: S302 - likewise
        builtins.exec(code, variables, result)  # noqa: S102 - as `dataclass` does

    vars(dataclasses)["exec"] = execute


if __name__ == "__main__":
    keep()
