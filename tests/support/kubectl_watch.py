"""What `kubectl get --watch` prints about one object, as it comes."""

import codecs
import json
import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from typing import IO, Any

_CHUNK_BYTES = 1 << 20


def watched(get: Sequence[str], pause_s: float) -> Iterator[dict[str, Any] | None]:
    """Yield an object as it is and after each change, and None whenever nothing came for `pause_s`.

    `get` is the command that lists it. Raises AssertionError with kubectl's message where that fails, and when the
    object is deleted. A watch that the server ends starts again.
    """
    while True:
        command = [*get, "--watch", "--output-watch-events", "-o", "json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                yield from _objects(process.stdout, pause_s)
                message = process.stderr.read().decode()
                assert process.wait() == 0, f"{' '.join(get)}: {message}"
            finally:
                process.kill()


def _objects(output: IO[bytes], pause_s: float) -> Iterator[dict[str, Any] | None]:
    """Yield until the output ends. Events are JSON documents one after the other."""
    documents, utf8 = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")()
    text = ""
    while True:
        if not select.select([output], [], [], pause_s)[0]:
            yield None
            continue
        chunk = os.read(output.fileno(), _CHUNK_BYTES)
        if not chunk:
            return
        text = (text + utf8.decode(chunk)).lstrip()
        while text:
            try:
                event, end = documents.raw_decode(text)
            except json.JSONDecodeError:  # the rest of it is still to come
                break
            text = text[end:].lstrip()
            assert event["type"] != "DELETED", f"{event['object']['metadata']['name']} was deleted"
            yield event["object"]
