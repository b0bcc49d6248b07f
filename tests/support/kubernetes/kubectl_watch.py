"""What `kubectl get --watch` prints, as it comes."""

import codecs
import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Event = Mapping[str, Any]
"""An event of a watch: its `type` and its `object`."""

_CHUNK_BYTES = 1 << 20


def watched(get: Sequence[str], pause_s: float) -> Iterator[dict[str, Any] | None]:
    """Yield an object as it is and after each change, and None whenever nothing came for `pause_s`.

    `get` is the command that lists it. Raises AssertionError with kubectl's message where that fails, and when the
    object is deleted. A watch that the server ends starts again.
    """
    while True:
        with _watch(get) as process:
            assert process.stderr is not None
            for event in _events(process, pause_s):
                if event is not None:
                    assert event["type"] != "DELETED", f"{event['object']['metadata']['name']} was deleted"
                yield None if event is None else event["object"]
            message = process.stderr.read().decode()
            assert process.wait() == 0, f"{' '.join(get)}: {message}"


def watched_always(get: Sequence[str], pause_s: float) -> Iterator[Event | None]:
    """Yield the events of all objects that a command lists, and None whenever none came for `pause_s`, without an end.

    An API server that does not answer is asked again, and tells of all objects again.
    """
    while True:
        with _watch(get) as process:
            yield from _events(process, pause_s)
        yield None
        time.sleep(pause_s)


@contextlib.contextmanager
def _watch(get: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [*get, "--watch", "--output-watch-events", "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def _events(process: subprocess.Popen[bytes], pause_s: float) -> Iterator[Event | None]:
    """Yield until the output ends. Events are JSON documents one after the other."""
    assert process.stdout is not None
    documents, utf8 = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")()
    text = ""
    while True:
        if not select.select([process.stdout], [], [], pause_s)[0]:
            yield None
            continue
        chunk = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not chunk:
            return
        text = (text + utf8.decode(chunk)).lstrip()
        while text:
            try:
                event, end = documents.raw_decode(text)
            except json.JSONDecodeError:  # the rest of it is still to come
                break
            text = text[end:].lstrip()
            yield event
