"""`parse` accepts exactly what the API server accepts, whatever is put where in a spec.

That both agree on each row of specs/cases is held by a test of each: test_schema.py, and test_tables.py of `parse`.
"""

from copy import deepcopy
from typing import Any

import pytest
from api_server import DryRun
from circles import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from specs.managed import MANAGED_STEPS
from specs.spec import Spec
from specs.tables import WHOLE
from sshload_contract.steps import TIMINGS
from sshload_contract.vocabulary import measured_step
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError

# One of each kind of value, around the edges of what the schema allows.
VALUES: tuple[Any, ...] = (
    None, True, False,
    -1, 0, 1, 2, 100, 101, 255, 256, 65_535, 65_536, 100_000, 100_001, 10**12, 2**63,
    -0.5, 0.0, 0.5, 1.0, 2.5, 99.999, 100.5,
    "", " ", "a", "A", "1", "-", "no", "none", "yes", "total", "exec", "uptime", "uptime.exec", "a b", "a/b",
    "a\nb", "é", "x" * 41, "x" * 254, "x" * 5000,
    "0s", "1ms", "999ms", "1s", "1.5s", "90s", "1h", "1h1ms", "24h", "168h", "1m30s", "1.5", "1us", "s", ".5s", "00s",
    "1%", "0%", "0.01%", "100%", "100.1%", "1.23456%", "01%",
    "0", "26Ki", "26KB", "100Gi", "101Gi", "1.5Gi", "500m", "1e3", "0x10",
    "10:30:100", "0:30:100", "10:100:10", "10:101:10", "1:1:1", "10:30",
    "2001:db8::1", "::1", "1.2.3.4", "1.2.3.4.", "a..b",
    "(a", "a)", "a(?:b)", "a(?=b)", "a\\", "\\d+", "[a", "a**", "x{2}", "^$", "((\\)))", "(?i)a",
    [], {}, [1], ["a"], ["a", "a"], [{}], [None], {"name": "a"}, {"a": "b"}, {"a": None}, {"cpu": 1}, {"cpu": "x"},
    {"exec": {"command": "a"}}, {"sleep": "1s"}, {"managed": {}}, {"burst": {"connections": 1}},
    "ssh2-python", "paramiko", "openssh", "asyncssh", "user", "pool", "password", "certificate",
    "0.5Ki", "1Ki", "32Ki", "64Ki", "1Mi", "2Mi", "64Mi", "65Mi", "1Gi", "4Gi", 4095, 4096, 32_768, 100_000_000_000_000,
    "subsystem", "open", "sftpRead", "get.open", "get.sftpRead",
    "via1.login", "via2.kex", "held.hold", "{iteration}", "a\tb", "\x00", "e" * 64,
    {"sftpRead": {"path": "a"}}, {"gitUploadPack": {"name": "get", "repository": "a"}},
    {"hold": {"sessions": 1, "rampUp": "0s", "duration": "1s"}}, {"configMapRef": {"name": "a"}},
    "0.1%", "0.09%", "50%", "50.1%", "99.9999%", "900%", "900.1%", 5, 6, 0.01, 1e-9, 500.5,
    {"lastPassed": True}, {"testRef": {"name": "a"}}, {"capacity": {"above": 1}}, {"capacity": {"within": "1%"}},
    {"throughput": {"within": "1%"}}, {"errorRate": {"below": "1%"}},
    {"errorRate": {"below": "1%"}, "abortOnFail": True}, {"latency": {"step": "total", "percentile": 50}},
    {"capacity": {"arrivals": {"min": 1, "max": 1, "duration": "1s"}}},
    {"capacity": {"hold": {"min": 1, "max": 2, "loginRate": 1, "duration": "1s"}}},
)  # fmt: skip
UNKNOWN = "unknown"


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of everything inside a spec."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in children for place in ((*path, key), *places(item, (*path, key)))]


@st.composite
def changed_specs(draw: st.DrawFn) -> Spec:
    """Draw a whole spec with one to three changes: a value replaced, taken away, repeated, or an unknown one added."""
    spec = deepcopy(draw(st.sampled_from(list(WHOLE.values()))))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places(spec)))
        *parents, last = place
        parent: Any = spec
        for key in parents:
            parent = parent[key]
        change(draw, parent, last)
    return spec


def change(draw: st.DrawFn, parent: Any, last: Any) -> None:
    """Change one place of a spec."""
    kind = draw(st.sampled_from(("replace", "replace", "replace", "take away", "repeat", "add")))
    if kind == "replace":
        parent[last] = deepcopy(draw(st.sampled_from(VALUES)))
    elif kind == "take away":
        del parent[last]
    elif kind == "repeat" and isinstance(parent, list):
        parent.append(deepcopy(parent[last]))
    elif isinstance(parent, dict):
        parent[UNKNOWN] = deepcopy(draw(st.sampled_from(VALUES)))


def parse_refusal(spec: Spec) -> str:
    """Return the message with which `parse` refuses the spec, empty where it accepts it."""
    try:
        parse(spec)
    except SpecError as error:
        return str(error)
    return ""


def assert_agreement(dry_run: DryRun, spec: Spec) -> None:
    """Hold both answers beside each other."""
    ours, theirs = parse_refusal(spec), dry_run.refusal(spec)
    assert bool(ours) == bool(theirs), f"parse says {ours!r}, the server says {theirs!r}"


@given(spec=changed_specs())
@settings(max_examples=draws(100, 400))
def test_parse_and_the_server_agree_on_changed_specs(dry_run: DryRun, spec: Spec) -> None:
    assert_agreement(dry_run, spec)


@pytest.mark.parametrize("whole", [pytest.param(spec, id=name) for name, spec in WHOLE.items()])
def test_parse_and_the_server_refuse_an_unknown_field_everywhere(dry_run: DryRun, whole: Spec) -> None:
    free = ("nodeSelector", "labels", "annotations", "matchLabels", "extraConfig", "requests", "limits")
    for place in [(), *places(whole)]:
        spec = deepcopy(whole)
        value: Any = spec
        for key in place:
            value = value[key]
        if not isinstance(value, dict) or any(key in free for key in place):
            continue
        value[UNKNOWN] = "x"
        assert UNKNOWN in parse_refusal(spec), place
        assert UNKNOWN in dry_run.refusal(spec), place


@pytest.mark.parametrize("step", MANAGED_STEPS["scenario"]["steps"][:-1], ids=lambda step: next(iter(step)))
def test_parse_and_the_server_agree_on_what_a_threshold_may_stand_on(dry_run: DryRun, step: Spec) -> None:
    (fields,) = step.values()
    for timing in TIMINGS:
        threshold = {"latency": {"step": measured_step(fields["name"], timing), "percentile": 50, "below": "1s"}}
        assert_agreement(dry_run, {**MANAGED_STEPS, "thresholds": [threshold]})
