"""The sentences that the product can say are those in the files beside this test, which `make generate` writes."""

import re
from pathlib import Path

import pytest
from messages import golden, sentences
from said import GOLDEN, SECTIONS, said

HERE = Path(__file__).parent
MADE = {**golden(), GOLDEN.name: said()}
PARTS_OF_A_SPEC = re.compile(r"\{(iteration|user|n)\}")
SHOWS_HOW = re.compile(r"\{[A-Za-z_:!]|\bNone\b")
"""The beginning of a placeholder, and what Python writes of a value that is missing."""


def test_the_files_are_those_of_today() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.txt")}
    assert written.keys() == MADE.keys(), "run make generate"
    for name, text in MADE.items():
        assert text == written[name], f"{name} differs: run make generate"


@pytest.mark.parametrize("name", MADE)
def test_no_sentence_shows_how_it_is_made(name: str) -> None:
    assert [line for line in MADE[name].splitlines() if SHOWS_HOW.search(PARTS_OF_A_SPEC.sub("", line))] == []


@pytest.mark.parametrize("section", SECTIONS)
def test_each_message_of_a_spec_a_run_and_a_login_is_whole(section: str) -> None:
    """What is cut ends with an ellipsis between two words; all others end as sentences do."""
    messages = list(SECTIONS[section]())
    assert messages
    assert [text for text in messages if text != text.strip() or text.endswith((":", ",", "(", ";"))] == []
    assert [text for text in messages if re.search(r"\d[eE][-+]\d", text)] == [], "a figure that no person would write"


def test_values_stand_in_the_format_of_their_sentence() -> None:
    source = '''
def told(host: str, port: int, per_s: float) -> str:
    """Say it."""
    return f"{host} port {port} takes {per_s:.1f} logins, {{per_s:.1f}} at most"
'''
    assert sentences(source) == ["bastion.example.com port 2201 takes 1234.6 logins, {per_s:.1f} at most"]


def test_a_sentence_within_a_value_is_one_of_its_own() -> None:
    found = sentences("said = f\"it failed {'because of the server' if known else why}\"")
    assert "because of the server" in found
