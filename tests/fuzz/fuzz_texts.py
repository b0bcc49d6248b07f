"""What every text of a foreigner has to be once it was read: text that UTF-8 can write."""

from typing import Any

from sshload_contract.wire.codec import to_plain


def assert_plain_text(value: object) -> None:
    """Fail where a text in `value`, a dataclass or what JSON makes, has half of a surrogate pair."""
    waiting: list[Any] = [to_plain(value)]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            found.encode()
        elif isinstance(found, dict):
            waiting += [*found.keys(), *found.values()]
        elif isinstance(found, list):
            waiting += found
