"""The gateway's log: one JSON object a line, on standard error."""

import logging
from typing import Final

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

_FORM: Final = "%(levelname)s %(name)s %(message)s"
_ATTRIBUTES: Final = (*RESERVED_ATTRS, "color_message")
"""What a record has beside fields of its own."""


def set_up_log(level: str) -> None:
    """Write the log from now on. A line has `timestamp`, `level`, `logger`, `message`, and fields of its own."""
    handler = logging.StreamHandler()
    renamed = {"levelname": "level", "name": "logger"}
    handler.setFormatter(JsonFormatter(_FORM, rename_fields=renamed, timestamp=True, reserved_attrs=_ATTRIBUTES))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for chatty in ("asyncssh", "alembic", "aiosqlite"):  # they log commands, hosts and statements
        logging.getLogger(chatty).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.ERROR)  # broken requests of strangers are no news, and could be any number
        logger.propagate = True
