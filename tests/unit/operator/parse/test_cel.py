"""The rules of specs, evaluated here as the API server evaluates them (tests/integration holds the two equal)."""

import pytest
from sshload_operator.api.shapes import cel

SPEC = {"rate": 5, "name": "a\n", "steps": [{"sleep": "1s"}, {"exec": {"name": "x"}}], "none": None, "on": True}


@pytest.mark.parametrize(
    "rule",
    [
        "self.rate >= 5 && self.rate < 5.5 || self.missing",
        "self.rate + 2 * 3 == 11 && !(self.rate - 2 == 2)",
        "1 <= 1 && 1 >= 1 && !(1 < 1) && !(1 > 1) && 1 != 2 && !(1 != 1) && 2 / 1 == 2",
        "!(true && self.rate == 6)",
        "self.rate == 6 || true",
        "quantity('1Ki').compareTo(quantity('2Ki')) < 0 && quantity('2Ki').compareTo(quantity('1Ki')) > 0",
        "self.on ? self.rate == 5 : self.rate == 6",
        "!has(self.none) && has(self.rate) && !has(self.steps[0].exec)",
        "self.?none.?name.orValue('x') == 'x' && self.?rate.orValue(1) == 5",
        "self.?none.or(self.?rate).orValue(1) == 5 && self.?rate.or(self.?name).orValue(1) == 5",
        "self.steps.exists(s, has(s.exec) && s.exec.name == 'x') && !self.steps.all(s, has(s.exec))",
        "self.steps.filter(s, has(s.sleep)).map(s, duration(s.sleep)).sum() == duration('1000ms')",
        "(duration('2m') - duration('1.5s')).getMilliseconds() == 118500 && duration('1m').getSeconds() == 60",
        "int(double(7) / 0.5 * 1000.0) == 14000 && int('7') == 7",
        "quantity(string(1024)).compareTo(quantity('1Ki')) == 0",
        "['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2 && 'b' in ['b']",
        "'a:b'.split(':')[1] == 'b' && 'every 1m'.substring(6) == '1m' && 'abc'.substring(0, 1) == 'a'",
        "!self.name.matches('^a$') && self.name.matches('^a') && 'ABC'.lowerAscii().startsWith('ab')",
        "isIP('::1') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0') && !isIP('1.2.3.04') && 'it\\'s'.size() == 4",
    ],
)
def test_a_rule_that_holds_is_found_to_hold(rule: str) -> None:
    assert cel.holds(rule, SPEC)
    assert not cel.holds(f"!({rule})", SPEC)


def test_a_value_that_is_not_true_is_no_rule_that_holds() -> None:
    assert not cel.holds("self.rate", SPEC)


def test_a_message_is_made_of_the_value_and_is_empty_where_it_cannot_be() -> None:
    assert cel.text("'is ' + string(self.rate)", SPEC) == "is 5"
    assert not cel.text("'is ' + self.rate", SPEC)


@pytest.mark.parametrize("rule", ["self.name < 5", "self.steps[7] == 1", "self.rate.size() == 1", "duration('1') == 1"])
def test_a_rule_without_a_value_does_not_hold(rule: str) -> None:
    assert not cel.holds(rule, SPEC)


@pytest.mark.parametrize(
    "rule",
    ["self.rate ==", "self.rate = 5", "(self.rate", "self.rate.unknown()", "[1, 2", "1 1", "''.matches(self.name)"],
)
def test_a_rule_that_is_not_understood_is_an_error_of_its_author(rule: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        cel.holds(rule, SPEC)
