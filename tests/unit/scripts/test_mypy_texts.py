"""mypy's plug-in finds each value of a text that may be None, in the product alone."""

from pathlib import Path

import pytest
from mypy import api

PLUGIN = Path(__file__).parents[3] / "scripts/mypy_texts.py"
SAID = 'this value may be None, which would stand in the text as "None"'
SOURCE = """
def told(name: str, port: int | None) -> str:
    whole = "" if port is None else f"{name}:{port}"
    half = f"{name}:{port}"
    return whole + half + "{}".format(port)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "lines"), [("operator", [4, 5]), ("tests", [])])
def test_a_text_that_may_say_none_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, lines: list[int]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "module.py").write_text(SOURCE)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nplugins = {PLUGIN}\n")
    said, _, _ = api.run(["--config-file", "mypy.ini", f"{folder}/module.py"])
    assert [line.partition(": error: ")[0] for line in said.splitlines() if SAID in line] == [
        f"{folder}/module.py:{line}" for line in lines
    ]
