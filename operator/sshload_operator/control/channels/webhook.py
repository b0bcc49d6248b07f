"""The webhook: an end is a CloudEvent in the structured mode, signed as Standard Webhooks specifies.

The signature covers the event's id, the time of the attempt and the body. So a receiver can refuse a body from somebody
else, and a recorded one that is replayed.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from sshload_contract.declared import Check, Text

from sshload_operator.api.kinds import API_VERSION, COMPARISON
from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.measured import figures_of_run
from sshload_operator.control.channels.channel import URL_CHARACTERS, Channel, Request, is_url
from sshload_operator.control.channels.ends import Notification
from sshload_operator.control.posting import SecretError

_WANTED: Final = "a URL of http or https, with a host and without user and password"
_CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"
_KEY_FILE: Final = "key"
_ENCODED_KEY: Final = b"whsec_"
_SHORTEST_KEY_BYTES: Final = 24
_LARGEST_KEY_BYTES: Final = 4_096
_RUN_FIELDS: Final = ("run", "verdict", "reason", "message", "startTime", "completionTime", "progress")
_CAPACITY_FIELDS: Final = ("inWords", "value", "unit", "end", "lowerBound", "upperBound")


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook(Channel):
    """A URL that takes signed CloudEvents."""

    # A problem does not repeat the text, which may hold a credential.
    url: Annotated[
        str,
        Text(shortest=1, longest=URL_CHARACTERS),
        Check(lambda url: "" if is_url(url) else f"must be {_WANTED}"),
    ]

    @property
    def receiver(self) -> str:
        """The URL without its path."""
        return "{0.scheme}://{0.netloc}".format(urlsplit(self.url))

    def request(self, ended: Notification, secret: Path, now: datetime) -> Request:
        """Return the signed event; the HMAC key is in the Secret's file `key`."""
        with (secret / _KEY_FILE).open("rb") as file:
            key = read_key(file.read(_LARGEST_KEY_BYTES + 1))
        body = json.dumps(event_of(ended), separators=(",", ":")).encode()
        signed = signed_headers(key, ended.id, int(now.timestamp()), body)
        return Request(self.url, {"Content-Type": _CONTENT_TYPE, **signed}, body)


def event_of(ended: Notification) -> Mapping[str, Any]:
    """Return the CloudEvent of an end. Its id is the same each time, so that a receiver can recognize a repetition."""
    return {
        "specversion": "1.0",
        "id": ended.id,
        "source": f"/apis/{API_VERSION}/namespaces/{ended.namespace}/{ended.kind.plural}/{ended.name}",
        "type": f"dev.sshload.{ended.event}.ended",
        "time": timestamp_text(ended.time),
        "datacontenttype": "application/json",
        "data": _data(ended),
    }


def _data(ended: Notification) -> Mapping[str, Any]:
    whole = written(ended.status)
    found: dict[str, Any] = {
        "kind": ended.kind.name,
        "namespace": ended.namespace,
        "name": ended.name,
        "uid": ended.uid,
    }
    if ended.schedule:
        found["schedule"] = ended.schedule
    found |= _fields(whole, _RUN_FIELDS if ended.kind is COMPARISON else _RUN_FIELDS[:-1])
    found["message"] = ended.message
    if "capacity" in whole:
        found["capacity"] = _fields(whole["capacity"], _CAPACITY_FIELDS)
    if isinstance(ended.status, TestStatus) and ended.status.results is not None:
        of_run = {one.name: one.value for one in figures_of_run(ended.status)}
        found["results"] = {**of_run, **_fields(whole["results"], ("p99Ms",))}
    return found


def _fields(whole: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: whole[name] for name in names if name in whole}


def read_key(content: bytes) -> bytes:
    """Return the HMAC key that a file holds: `whsec_` and Base64, or any other bytes as they are.

    A line end after it is removed. Raises SecretError for less than 24 bytes, and for more than 4096.
    """
    key = content.rstrip(b"\r\n")
    if len(key) > _LARGEST_KEY_BYTES:
        raise SecretError(f"the HMAC key has more than {_LARGEST_KEY_BYTES} bytes")
    if key.startswith(_ENCODED_KEY):
        try:
            key = base64.b64decode(key.removeprefix(_ENCODED_KEY), validate=True)
        except binascii.Error:
            raise SecretError("the HMAC key begins with whsec_, and what follows is not Base64") from None
    if len(key) < _SHORTEST_KEY_BYTES:
        raise SecretError(f"the HMAC key has less than {_SHORTEST_KEY_BYTES} bytes")
    return key


def signed_headers(key: bytes, event_id: str, unix_s: int, body: bytes) -> Mapping[str, str]:
    """Return the headers of Standard Webhooks: the event's id, the time of the attempt, and the signature of all."""
    digest = hmac.new(key, f"{event_id}.{unix_s}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(unix_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
