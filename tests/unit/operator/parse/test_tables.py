"""parse: which specs are accepted, and which field is wrong in the others."""

import pytest
from specs.bad import Bad
from specs.gateway import MANAGED_GATEWAY
from specs.small import SMALL
from specs.spec import Spec, changed
from specs.tables import BAD, GOOD
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in GOOD.items()])
def test_a_good_spec_is_accepted(spec: Spec) -> None:
    parse(spec)


@pytest.mark.parametrize("bad", [pytest.param(bad, id=name) for name, bad in BAD.items()])
def test_a_bad_spec_is_refused_by_the_path_of_the_field(bad: Bad) -> None:
    with pytest.raises(SpecError) as caught:
        parse(bad.spec)
    assert caught.value.path.startswith(bad.field)
    assert bad.says in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_of_a_file_must_be_finite(value: float) -> None:
    with pytest.raises(SpecError, match="must be a finite number"):
        parse(changed(SMALL, "load.arrivals.stages.0.rate", value))


def test_a_key_of_a_file_must_be_a_string() -> None:
    with pytest.raises(SpecError, match=r"spec.target: has a key that is a number"):
        parse({**SMALL, "target": {1: {}}})


def test_the_whole_spec_must_be_an_object() -> None:
    with pytest.raises(SpecError, match="spec: must be an object, not a list"):
        parse([])  # type: ignore[arg-type] - what a file may hold


@pytest.mark.parametrize("value", [10**400, -(10**400), 2**63])
@pytest.mark.parametrize("field", ["load.arrivals.stages.0.rate", "load.arrivals.maxInFlight", "workers.replicas"])
def test_a_number_of_a_file_has_64_bits(field: str, value: int) -> None:
    with pytest.raises(SpecError, match="must be a number of 64 bits"):
        parse(changed(SMALL, field, value))


def test_a_size_of_a_file_has_64_bits() -> None:
    with pytest.raises(SpecError, match="must be a number of 64 bits"):
        parse(changed(SMALL, "client.windowSize", 16**10_000))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({**SMALL, **{f"field-{number}": 1 for number in range(1_000)}}, id="in one object"),
        pytest.param(
            changed(SMALL, "scenario.steps", [{"exec": {f"a{n}": 1 for n in range(50)}} for _ in range(15)]),
            id="in many objects",
        ),
    ],
)
def test_of_endless_problems_the_first_fifty_are_collected(spec: Spec) -> None:
    with pytest.raises(SpecError) as caught:
        parse(spec)
    assert len(caught.value.problems) == 50
    assert str(caught.value).endswith("; and 45 more")


def test_what_a_gateway_does_not_take_is_named() -> None:
    held = changed(MANAGED_GATEWAY, "load", {"hold": {"sessions": 5, "rampUp": "1s", "duration": "5s"}})
    jump_host = {"host": "a", "user": "b", "credentialsSecretRef": {"name": "c"}, "insecureIgnoreHostKey": True}
    with pytest.raises(SpecError, match=r"target\.managed\.gateway: must not have via or load\.hold: a gateway's"):
        parse(changed(held, "via", [jump_host]))
