"""How large a spec may be: the operator parses and holds those of all tenants."""

import json
from collections.abc import Mapping
from typing import Any, Final

from sshload_operator.api.errors import SpecError

SPEC_LIMIT_BYTES: Final = 32 * 1024
"""The most that a spec may take as compact JSON in UTF-8. The largest example takes 1 KB."""

_NUMBER_BITS: Final = 64


def check_size(spec: Mapping[str, Any]) -> None:
    """Raise SpecError for a spec that takes more than SPEC_LIMIT_BYTES.

    The time does not grow with the spec, not even with one that contains itself, as YAML can say: counting ends at the
    limit.
    """
    size_bytes = 0
    uncounted: list[Any] = [spec]
    while uncounted:
        value = uncounted.pop()
        size_bytes += _own_bytes(value)
        if size_bytes > SPEC_LIMIT_BYTES:
            raise SpecError(
                "spec",
                f"takes more than {SPEC_LIMIT_BYTES} bytes as compact JSON, which is the most: shorten long lists and"
                " texts, such as by one label of nodes in place of their many names",
            )
        if isinstance(value, Mapping):
            uncounted += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            uncounted += value


def _own_bytes(value: Any) -> int:
    """Return the bytes of a value without those of what it holds."""
    match value:
        case Mapping():
            return max(2, 2 * len(value) + 1)
        case list() | tuple():
            return max(2, len(value) + 1)
        case int() if value.bit_length() > _NUMBER_BITS:
            return 0  # the parser refuses it by its field, and str may refuse to write it
        case _:
            return len(json.dumps(value, ensure_ascii=False, default=str).encode(errors="surrogatepass"))
