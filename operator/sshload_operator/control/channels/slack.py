"""A message for people, to an incoming webhook as Slack has it. Mattermost and Rocket.Chat take the same JSON.

Anything that a server or a spec may have said is code in the message: so it is no link, no mention and no formatting.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from sshload_contract.declared import Absent, Check, Text
from sshload_contract.thresholds import BASELINE_UNIT

from sshload_operator.api.inert_text import parted, printable
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.measured import COMPLETED_RATE, ERROR_PERCENT, figures
from sshload_operator.control.channels.channel import URL_CHARACTERS, Channel, Request, is_url
from sshload_operator.control.channels.ends import Notification
from sshload_operator.control.posting import SecretError

_URL_FILE: Final = "url"
_HEADLINES: Final = {
    COMPLETED_RATE: "completed",
    ERROR_PERCENT: "failed",
    "total.p50Ms": "p50 of total",
    "total.p99Ms": "p99 of total",
}
_MOST_THRESHOLDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Slack(Channel):
    """An incoming webhook. Its URL is a credential, so it is in the Secret's file `url`."""

    pages_url: Annotated[
        str,
        Text(longest=500),
        Check(lambda url: "" if not url or is_url(url) else "must be a URL of http or https, with a host"),
        Absent(""),
    ] = ""

    @property
    def receiver(self) -> str:
        """The receiver, without its URL."""
        return "the incoming webhook of Slack"

    def request(self, ended: Notification, secret: Path, _now: datetime) -> Request:
        """Return the message."""
        with (secret / _URL_FILE).open("rb") as file:
            url = file.read(URL_CHARACTERS + 1).decode("latin-1").rstrip("\r\n")
        if len(url) > URL_CHARACTERS or not is_url(url):
            raise SecretError("the Secret's file url is not a URL of http or https, without user and password")
        body = json.dumps({"text": message_of(ended, self.pages_url)}).encode()
        return Request(url, {"Content-Type": "application/json"}, body)


def message_of(ended: Notification, pages_url: str) -> str:
    """Return verdict, reason, headline figures, broken and relative thresholds, and a link to the report: lines."""
    return "\n".join(_lines(ended, pages_url.rstrip("/")))


def _lines(ended: Notification, pages_url: str) -> Iterator[str]:
    status = ended.status
    made_by = f", by schedule {_code(ended.schedule)}" if ended.schedule else ""
    yield f"*{status.verdict or 'Ended'}*: {ended.kind.word} {_code(f'{ended.namespace}/{ended.name}')}{made_by}"
    if ended.message:
        yield _code(ended.message)
    if isinstance(status, TestStatus):
        yield from _figures(status)
        yield from _thresholds(status)
    if pages_url:
        yield f"<{pages_url}/ui/{ended.namespace}/{ended.kind.word}s/{ended.name}|Report>"


def _figures(status: TestStatus) -> Iterator[str]:
    if status.capacity is not None and status.capacity.in_words:
        yield f"• capacity: {_code(status.capacity.in_words)}"
    for one in figures(status):
        if one.key in _HEADLINES and one.value is not None:
            interval = "" if one.low is None or one.high is None else f" ({one.low:,.6g} to {one.high:,.6g})"
            yield f"• {_HEADLINES[one.key]}: {one.value:,.6g} {one.unit}{interval}".replace(" /s", "/s")


def _thresholds(status: TestStatus) -> Iterator[str]:
    """Yield what is broken, and each change against the baseline, whether it is too large or not."""
    baseline = status.baseline
    told = [one for one in status.judged if one.met is False or one.unit == BASELINE_UNIT]
    for one in told[:_MOST_THRESHOLDS]:
        against = f" (baseline {_code(baseline.test)})" if baseline is not None and one.unit == BASELINE_UNIT else ""
        yield f"• {'broken' if one.met is False else 'compared'}: {_code(one.message)}{against}"
    if len(told) > _MOST_THRESHOLDS:
        yield f"• and {len(told) - _MOST_THRESHOLDS} more"


def _code(text: str) -> str:
    """Return text as code that shows it as it is: Slack reads `<`, `>` and `&` everywhere, Mattermost a mention too."""
    inert = parted(printable(text)).replace("`", "'")
    return "`" + inert.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") + "`"
