"""The spec of an SSHLoadTest, as `parse` reads it, and the objects that are made of it.

Input: the spec's JSON.
Oracle: only SpecError is raised, with the path of a field of the spec. What was read is planned, looked over and made
into objects without an error, which are JSON and text that UTF-8 can write.
"""

import json
from collections.abc import Iterator

from api_server_json import RefusedError, handed_on
from fuzz_texts import assert_plain_text
from json_mutation import mutate_json
from plans import PROOF_SHA256, plan
from specs.tables import GOOD
from sshload_contract.wire.codec import to_json
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.manifests.children import children
from sshload_operator.planning.cautions import cautions
from sshload_operator.planning.preflight import preflight


def seeds() -> Iterator[bytes]:
    """Yield every good spec that the unit tests know."""
    for spec in GOOD.values():
        yield json.dumps(spec).encode()


def mutate(data: bytes, seed: int) -> bytes:
    """Change the spec as JSON."""
    return mutate_json(data, seed)


def check(data: bytes) -> None:
    """Read the spec, and make what it asks for."""
    try:
        made = plan(handed_on(data))
    except RefusedError:
        return
    except SpecError as error:
        _assert_refusal(error)
        return
    assert_plain_text(list(cautions(made)))
    if preflight(made) is None:
        manifests = children(made, PROOF_SHA256)
        to_json(manifests)
        assert_plain_text(list(manifests))


def _assert_refusal(error: SpecError) -> None:
    assert error.path.startswith("spec")
    assert_plain_text(str(error))
