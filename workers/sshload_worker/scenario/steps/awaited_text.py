"""AwaitedText: looks for a text in output that comes in pieces, with no more memory than the text and one piece."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure


@dataclass(slots=True)
class AwaitedText:
    """A plain text that has to come; an empty one is there from the beginning."""

    text: str
    _sought: bytes = field(init=False)
    _tail: bytes = field(init=False, default=b"")

    def __post_init__(self) -> None:
        self._sought = self.text.encode()

    def comes_with(self, piece: bytes) -> bool:
        """Take the next piece, and tell whether the text has come by its end."""
        seen = self._tail + piece
        if self._sought in seen:
            return True
        keep = len(self._sought) - 1
        self._tail = seen[-keep:] if keep > 0 else b""
        return False


def await_text(read: Callable[[], bytes], text: str, field_name: str) -> None:
    """Read until `text` has come; raises StepFailure, which names the field, where the output ends before."""
    awaited = AwaitedText(text)
    if not text:
        return
    while piece := read():
        if awaited.comes_with(piece):
            return
    raise StepFailure(Outcome.OUTPUT_MISMATCH, f"the output ended before `{field_name}` came")
