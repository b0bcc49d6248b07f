"""The spec of an SSHLoadTest, as it is written, to a LoadTestSpec: strictly, with the CRD's defaults.

The parser accepts what the CRD accepts and refuses what it refuses (tests hold it against a real API server), so that
`sshload run FILE` needs no cluster, and so that an object of an older or a looser CRD ends in a clear condition. Only
the parser bounds the size of a whole spec, because a CRD cannot.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from sshload_contract.declared import Rule, WrittenAs

from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.forms import Schema
from sshload_operator.api.shapes.reading import read, schema
from sshload_operator.api.spec import LoadTestSpec, WrittenSpec
from sshload_operator.api.spec_rules import SPEC_RULES

SPEC_LIMIT_BYTES: Final = 32 * 1024
"""The most that a spec may take as compact JSON in UTF-8. The largest example takes 1 KB."""

_NUMBER_BITS: Final = 64
NOT_ITS_OWN_BASELINE: Final = Rule(
    "!has(self.spec.baseline) || !has(self.spec.baseline.testRef)"
    " || self.spec.baseline.testRef.name != self.metadata.name",
    "a test cannot be its own baseline",
    at=".spec.baseline.testRef.name",
)
_SPEC: Final[Any] = Annotated[LoadTestSpec, WrittenAs(WrittenSpec), *SPEC_RULES]


def parse(body_spec: Mapping[str, Any], path: str = "spec") -> LoadTestSpec:
    """Return the values of `body_spec`, the object at `path`; raises SpecError with all that is wrong."""
    check_size(body_spec, path)
    spec: LoadTestSpec = read(_SPEC, body_spec, path)
    return spec


def spec_schema() -> Schema:
    """Return the schema of a test's spec, with all rules."""
    return schema(_SPEC)


def check_size(spec: Mapping[str, Any], path: str = "spec") -> None:
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
                path,
                f"takes more than {SPEC_LIMIT_BYTES} bytes as compact JSON, which is the limit: shorten long lists"
                f" and texts, for example select nodes by one label instead of by many names",
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
