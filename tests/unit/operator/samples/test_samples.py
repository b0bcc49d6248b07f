"""most_samples: how many samples of a timing a load makes at most."""

from typing import Any

import pytest
from specs.external import EXTERNAL_HOLD, EXTERNAL_USERS
from specs.search import SEARCH_HOLD
from specs.small import SMALL
from specs.spec import changed
from sshload_operator.api.load_test import parse
from sshload_operator.planning.estimates import leaves_files, most_samples

SHELL = {"shell": {"name": "type", "send": "a", "expect": "a", "repeat": 4}}
POOL = {"sessionReuse": "pool", "poolSize": 5}
USERS = {"users": {"stages": [{"users": 5, "duration": "10s"}]}}
SELDOM = {
    "steps": [{"exec": {"name": name, "command": "true"}} for name in ("often", "rare")],
    "alternatives": [{"weight": 3, "steps": ["often"]}, {"weight": 1, "steps": ["often", "rare"]}],
}
PUT = {"sftpWrite": {"name": "put", "path": "up", "size": "1Ki"}}
REMOVE = {"sftpRemove": {"name": "remove", "path": "up"}}
LOCUSTFILE = {"locustfile": {"configMapRef": {"name": "own"}}}


@pytest.mark.parametrize(
    ("spec", "step", "samples"),
    [
        pytest.param(SMALL, "total", 600, id="arrivals"),
        pytest.param(SMALL, "exec", 600, id="a step of each arrival"),
        pytest.param(changed(SMALL, "scenario", {"steps": [SHELL]}), "type.echo", 2400, id="each echo of a shell"),
        pytest.param(changed(SMALL, "scenario", {"steps": [SHELL]}), "type.shell", 600, id="a shell once"),
        *(
            pytest.param(changed(SMALL, "scenario", {**SMALL["scenario"], **POOL}), part, 0, id=f"{part} of a pool")
            for part in ("connect", "banner", "kex", "auth", "login")
        ),
        pytest.param(
            changed(EXTERNAL_USERS, "scenario.sessionReuse", "user"), "total", 50 * 31 + 10 * 11, id="work of who stays"
        ),
        pytest.param(changed(SMALL, "scenario", SELDOM), "rare.exec", 150, id="a step of a quarter of all iterations"),
        pytest.param(changed(SMALL, "scenario", {**SMALL["scenario"], **POOL}), "exec", 600, id="work in a pool"),
        pytest.param(changed(SMALL, "load", {"burst": {"connections": 50, "repeat": 3}}), "total", 150, id="bursts"),
        pytest.param(EXTERNAL_USERS, "total", 50 * 31 + 10 * 11, id="users who think for a second at least"),
        pytest.param(changed(SMALL, "load", USERS), "total", None, id="users who do not think"),
        pytest.param(
            changed(changed(SMALL, "load", USERS), "scenario.sessionReuse", "user"), "login", None, id="users who stay"
        ),
        pytest.param(changed(SMALL, "scenario", LOCUSTFILE), "browse.exec", None, id="a step of a locustfile"),
        pytest.param(changed(SMALL, "scenario", LOCUSTFILE), "total", 600, id="tasks of a locustfile"),
        pytest.param(SEARCH_HOLD, "held.login", 100, id="held sessions"),
        pytest.param(SEARCH_HOLD, "total", 150, id="probes"),
        pytest.param(SEARCH_HOLD, "held.keepAlive", 400, id="keep-alive requests"),
        pytest.param(EXTERNAL_HOLD, "held.keepAlive", 0, id="no keep-alive requests"),
        pytest.param(EXTERNAL_HOLD, "via2.login", 1000, id="held sessions behind a jump host"),
    ],
)
def test_a_load_makes_so_many_samples(spec: dict[str, Any], step: str, samples: float | None) -> None:
    parsed = parse({**spec, "thresholds": [{"errorRate": {"below": "1%"}}]})
    assert most_samples(parsed, step) == samples


@pytest.mark.parametrize(
    ("steps", "leaves"),
    [
        pytest.param([{"exec": {"command": "true"}}], False, id="nothing written"),
        pytest.param([PUT], True, id="written"),
        pytest.param([PUT, REMOVE], False, id="written and removed"),
        pytest.param([PUT, {"sftpRename": {"name": "move", "path": "up", "to": "b"}}, REMOVE], True, id="moved away"),
    ],
)
def test_steps_leave_a_file_that_they_write_and_do_not_remove(steps: list[Any], *, leaves: bool) -> None:
    assert leaves_files(parse(changed(SMALL, "scenario", {"steps": steps})).scenario.steps) is leaves
