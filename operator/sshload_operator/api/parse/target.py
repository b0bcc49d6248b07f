"""The server under test: one that is made, or one that exists."""

from typing import Any

from sshload_contract.run_config import Auth

from sshload_operator.api.parse.external import read_external
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.fixtures import read_fixtures
from sshload_operator.api.parse.placement import read_image, read_image_pull_secrets, read_placement
from sshload_operator.api.parse.sshd import read_sshd
from sshload_operator.api.spec import ManagedTarget, Target


def read_target(value: Any, path: str, auth: Auth) -> Target:
    """Read the target; `auth` is how the client is to log in."""
    fields = Fields(value, path)
    if fields.one_of("managed", "external") == "managed":
        target: Target = fields.required("managed", _read_managed)
    else:
        target = fields.required("external", lambda external, at: read_external(external, at, auth))
    fields.end()
    return target


def _read_managed(value: Any, path: str) -> ManagedTarget:
    fields = Fields(value, path)
    fixtures = fields.defaulted("fixtures", read_fixtures, {})
    target = ManagedTarget(
        image=read_image(fields),
        image_pull_secrets=read_image_pull_secrets(fields),
        placement=read_placement(fields),
        sshd=fields.defaulted("sshd", read_sshd, {}),
        files=fixtures.files,
        directories=fixtures.directories,
        repositories=fixtures.repositories,
        spare_bytes=fixtures.spare_bytes,
    )
    fields.end()
    return target
