"""A YAML file of load tests, as `read_objects` reads it for `sshload run`, `validate` and the others.

Input: the file.
Oracle: only SpecError is raised, with a message that UTF-8 can write; and a spec that is read is parsed, with no other.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml
from fuzz_texts import assert_plain_text
from sshload_operator.api.load_test import parse
from sshload_operator.api.load_test_file import read_objects
from sshload_operator.api.shapes.errors import SpecError

_EXAMPLES = Path(__file__).parents[4] / "examples"
_FILE = Path(tempfile.mkdtemp(prefix="sshload-fuzz-", dir="/dev/shm")) / "file.yaml"


def seeds() -> Iterator[bytes]:
    """Yield some examples, and what YAML has that nobody expects."""
    for number in ("01", "04", "09", "16", "19"):
        (path,) = _EXAMPLES.glob(f"{number}-*.yaml")
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        yield "\n".join(lines).encode()
    for odd in ("a: 2001-99-99", "? [a]\n: b", "a: &a [*a]", "<<: {a: b}", "!!set {a}", "a: 0o17", "a: 1_0:59.", "-"):
        yield odd.encode()
    whole = {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTest", "metadata": {"name": "a"}, "spec": {"a": 1}}
    yield yaml.safe_dump(whole).encode()


def check(data: bytes) -> None:
    """Read the file, and parse what stands in it."""
    _FILE.write_bytes(data)
    try:
        for document in read_objects(_FILE):
            parse(document.spec)
    except SpecError as error:
        assert_plain_text(str(error))
