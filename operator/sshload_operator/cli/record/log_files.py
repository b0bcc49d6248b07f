"""The files of an sshd's log: rotated ones, compressed or not, in the order of their times.

A log of which a part is missing would make a trace with a pause that never was. So each file must be read to its end.
"""

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final

from sshload_operator.cli.record.sshd_log import Entry, LogArrivals, arrivals_of, entries_of

_STANDARD_INPUT = "-"
_MAGIC_BYTES = 8
_FORMATS: Final[dict[bytes, Callable[[Any], Any]]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_OTHER_FORMATS: Final = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"\x1f\x9d": "compress",
    b"LPKSHHRH": "journald",
}
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)


class UnreadableLogError(Exception):
    """A file of a log cannot be read as one. The message names the file, and says what to do."""


def read_logs(files: Sequence[Path]) -> LogArrivals:
    """Return the arrivals in the files of one log; raises UnreadableLogError, or OSError if a file cannot be opened."""
    now = datetime.now().astimezone()
    with ExitStack() as stack:
        logs = [_entries(path, stack, now) for path in dict.fromkeys(files)]
        begun = [(first.at_s, number, first) for number, log in enumerate(logs) if (first := next(log, None))]
        return arrivals_of(chain.from_iterable(chain([first], logs[number]) for _, number, first in sorted(begun)))


def _entries(path: Path, stack: ExitStack, now: datetime) -> Iterator[Entry]:
    """Yield the entries of a file; it fails if a file that is not empty has none."""
    is_empty = has_entries = False
    is_standard_input = str(path) == _STANDARD_INPUT
    try:
        content = _content(path, sys.stdin.buffer if is_standard_input else stack.enter_context(path.open("rb")))
        is_empty = content is None
        if content is not None:
            for entry in entries_of(io.TextIOWrapper(content, encoding="utf-8", errors="replace"), now):
                has_entries = True
                yield entry
    except _DAMAGED as error:
        raise UnreadableLogError(f"{path}: {getattr(error, 'strerror', None) or error or 'it is damaged'}") from None
    if not (is_empty or has_entries):  # a rotated log may be empty
        raise UnreadableLogError(
            f"{path}: none of its lines is from syslog or the journal: give auth.log, or what"
            " `journalctl -u ssh -o short-iso-precise` or `-o json` prints"
        )


def _content(path: Path, opened: Any) -> Any:
    """Return what a file has, decompressed; None if it is empty."""
    magic = opened.peek(_MAGIC_BYTES)[:_MAGIC_BYTES]
    for start, name in _OTHER_FORMATS.items():
        if magic.startswith(start):
            raise UnreadableLogError(f"{path}: it is in the format of {name}: give it as text")
    for start, decompress in _FORMATS.items():
        if magic.startswith(start):
            return decompress(opened)
    return opened if magic else None
