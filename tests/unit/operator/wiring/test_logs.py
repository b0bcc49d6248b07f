"""The operator's log: what its lines say of the object that they are about."""

import asyncio
import json
import logging
from collections.abc import Iterator
from datetime import datetime

import pytest
from sshload_operator.control.logs import log_about, set_up_log


@pytest.fixture(autouse=True)
def _root_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    root.handlers[:] = []
    yield
    root.handlers[:], root.level = before


async def two_passes() -> None:
    """Log in two tasks, one about each object, the way passes do."""

    async def do(**about: str) -> None:
        log_about(**about)
        await asyncio.sleep(0)
        logging.getLogger("sshload").warning("it happened: %s", about)

    await asyncio.gather(do(namespace="a", test="one", run="0123456789"), do(namespace="b", schedule="nightly"))
    logging.getLogger("sshload").info("about none")


def test_each_line_of_json_names_the_object_of_the_pass_that_logged_it(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log("INFO", "json")
    asyncio.run(two_passes())
    one, nightly, none = map(json.loads, capsys.readouterr().err.splitlines())
    assert (one["namespace"], one["test"], one["run"]) == ("a", "one", "0123456789")
    assert (one["level"], one["logger"], one["message"][:11]) == ("WARNING", "sshload", "it happened")
    assert (nightly["namespace"], nightly["schedule"]) == ("b", "nightly")
    assert "test" not in nightly
    assert "namespace" not in none
    assert datetime.fromisoformat(none["timestamp"]).tzinfo is not None


def test_a_traceback_is_a_field_of_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log("INFO", "json")
    try:
        int("odd\nvalue")
    except ValueError:
        logging.getLogger("sshload").exception("failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert "ValueError: invalid literal" in json.loads(line)["exc_info"]


def test_lines_of_text_are_as_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log("INFO", "text")
    logging.getLogger("sshload").warning("a message")
    assert capsys.readouterr().err.endswith(" WARNING sshload: a message\n")
