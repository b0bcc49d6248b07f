"""What a spec whose target is a gateway may ask for, told where it is wrong, and by what it is beside the gateway."""

from typing import Any

import pytest
from plans import EXTERNAL
from specs.gateway import GATEWAY
from specs.search import SEARCH_HOLD
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.targets.gateway_rules import timings

EXISTING = {**GATEWAY, "thresholds": []}
OWN = {**EXISTING, "target": {"managed": {"gateway": {"policy": "pool"}}}}
HOLD = {"hold": {"sessions": 5, "rampUp": "1s", "duration": "5s"}}
SEARCHED_HOLD = SEARCH_HOLD["load"]
BELOW_1_S = [{"latency": {"step": "total", "percentile": 90, "below": "1s"}}]
KINDS = pytest.mark.parametrize(
    ("spec", "field"), [(EXISTING, "spec.target.gateway"), (OWN, "spec.target.managed.gateway")], ids=["exists", "made"]
)


def problems(spec: dict[str, Any]) -> dict[str, str]:
    """Return what is wrong, by where it is."""
    with pytest.raises(SpecError) as caught:
        parse(spec)
    return {one.path: one.text for one in caught.value.problems}


@KINDS
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"via": [EXTERNAL]}, "via"),
        ({"load": HOLD}, "load.hold"),
        ({"load": SEARCHED_HOLD, "thresholds": BELOW_1_S}, "load.capacity.hold"),
        ({"via": [EXTERNAL], "load": HOLD}, "via or load.hold"),
    ],
)
def test_what_is_for_ssh_only_is_named_each_by_its_field(
    spec: dict[str, Any], field: str, changes: dict[str, Any], named: str
) -> None:
    assert problems({**spec, **changes})[field] == (f"must not have {named}: a gateway's workers speak HTTP, not SSH")


UNUSED = {
    "kexAlgorithms": ["curve25519-sha256"],
    "ciphers": ["aes128-ctr"],
    "macs": ["hmac-sha2-256"],
    "hostKeyAlgorithms": ["ssh-ed25519"],
    "rekeyLimit": {"library": "paramiko", "rekeyLimit": "1Gi"},
    "windowSize": "2Mi",
    "packetSize": "32Ki",
    "readBufferSize": "32Ki",
    "sftpReadSize": "32Ki",
    "sftpWriteSize": "32Ki",
    "library": "paramiko",
    "compression": True,
    "auth": "agent",
}


@KINDS
@pytest.mark.parametrize("setting", UNUSED)
def test_no_setting_of_ssh_is_taken_where_the_workers_do_not_speak_it(
    spec: dict[str, Any], field: str, setting: str
) -> None:
    del field
    client = UNUSED[setting] if isinstance(UNUSED[setting], dict) else {setting: UNUSED[setting]}
    why = problems({**spec, "client": client})["spec.client"]
    assert why.startswith("can have only timeouts, quickAck and networkDelay with a gateway")


@KINDS
def test_what_any_client_has_is_taken(spec: dict[str, Any], field: str) -> None:
    del field
    parse({**spec, "client": {"timeouts": {"connect": "3s"}, "quickAck": True}})


@KINDS
def test_a_step_that_needs_a_session_is_named_and_no_steps_are_told_otherwise(spec: dict[str, Any], field: str) -> None:
    del field
    shell = {"shell": {"name": "b", "send": "a", "expect": "a"}}
    why = problems({**spec, "scenario": {"steps": [{"exec": {"name": "a", "command": "a"}}, shell]}})[
        "spec.scenario.steps"
    ]
    assert 'with a gateway: "shell" needs an SSH session' in why
    why = problems({**spec, "scenario": {"steps": []}})["spec.scenario.steps"]
    assert why.startswith("must have at least one step with a gateway, which has no login to measure by itself")


def test_only_a_gateways_own_timings_have_thresholds() -> None:
    steps = [{"exec": {"name": "up", "command": "uptime"}}, {"sleep": "1s"}, {"sftpList": {"name": "ls", "path": "."}}]
    assert list(timings(parse({**EXISTING, "scenario": {"steps": steps}}))) == [
        *("total", "connect", "tls"),
        *("up.gatewayWait", "up.gatewayLogin", "up.gatewayCommand", "up.command"),
        "ls.sftpList",
    ]
