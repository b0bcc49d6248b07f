"""What each iteration does."""

from typing import Any

from sshload_contract.run_config import Scenario, SessionReuse

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.placement import read_reference
from sshload_operator.api.parse.readers import choice, integer, text
from sshload_operator.api.parse.steps import read_steps
from sshload_operator.api.spec import LocustfileRef

_KEY = text(longest=253, pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]*", wanted="a key of a ConfigMap, such as locustfile.py")
_SESSIONS_MOST = 100_000


def read_scenario(value: Any, path: str) -> tuple[Scenario, LocustfileRef | None]:
    """Read the scenario, and where its locustfile is if it has one. Where that is mounted is not settled here."""
    fields = Fields(value, path)
    given = fields.one_of("steps", "locustfile")
    reuse = SessionReuse(fields.defaulted("sessionReuse", choice(*SessionReuse), SessionReuse.NONE.value))
    pool_sessions = fields.optional("poolSize", integer(1, _SESSIONS_MOST))
    scenario = Scenario(
        session_reuse=reuse,
        pool_sessions=pool_sessions or 0,
        steps=fields.required("steps", read_steps) if given == "steps" else (),
        locustfile_path="",
    )
    locustfile = fields.required("locustfile", _read_locustfile) if given == "locustfile" else None
    fields.end()
    if (reuse is SessionReuse.POOL) != (pool_sessions is not None):
        raise SpecError(fields.at("poolSize"), "is needed with sessionReuse pool, and only then")
    return scenario, locustfile


def _read_locustfile(value: Any, path: str) -> LocustfileRef:
    fields = Fields(value, path)
    locustfile = LocustfileRef(
        config_map=fields.required("configMapRef", read_reference),
        key=fields.defaulted("key", _KEY, "locustfile.py"),
    )
    fields.end()
    return locustfile
