"""The operator's log: lines of text or of JSON, each with the object that it is about."""

import logging
from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final

from pythonjsonlogger.json import JsonFormatter

FORMATS: Final = ("text", "json")
_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_about: ContextVar[Mapping[str, str]] = ContextVar("about", default=_NOTHING)


def log_about(**fields: str) -> None:
    """Add these fields to what this task, and the tasks that it starts, log from now on."""
    _about.set({**_about.get(), **fields})


def set_up_log(level: str, form: str) -> None:
    """Write the log to standard error from now on, in one of FORMATS.

    A line of JSON has `timestamp` (RFC 3339), `level`, `logger` and `message`; `namespace` and `test`, `schedule` or
    `comparison` if the line is about one; `run`, the id of the test's run; and `exc_info` with a traceback.
    """
    handler = logging.StreamHandler()
    handler.addFilter(_name_the_object)
    handler.setFormatter(_json() if form == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _json() -> JsonFormatter:
    renamed = {"levelname": "level", "name": "logger"}
    return JsonFormatter("%(levelname)s %(name)s %(message)s", rename_fields=renamed, timestamp=True)


def _name_the_object(record: logging.LogRecord) -> bool:
    for name, value in _about.get().items():
        setattr(record, name, value)
    return True
