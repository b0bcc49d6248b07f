"""What is made of the name of an object: no two names give the same, and the API server takes each."""

import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specs.names import FIT
from sshload_operator.api.names import NAME_PATTERN, dns_label, extended, is_name, label_value

LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
NAMES = st.from_regex(re.compile(NAME_PATTERN), fullmatch=True).filter(is_name)
LONG_NAMES = st.tuples(st.sampled_from("a-.0"), st.integers(60, 250), NAMES).map(
    lambda parts: f"a{parts[0]}a{'b' * parts[1]}{parts[2]}"[:253]
)
ANY = st.one_of(st.sampled_from(FIT), NAMES, LONG_NAMES.filter(is_name))
ALIKE = ("a" * 64, "a" * 65, "a" * 253, f"{'a' * 46}_", "a.b", "a-b", "a.b.c", "a-b.c", "1a", "n1a", "a" * 41, "a" * 40)


@pytest.mark.slow
@given(ANY)
def test_a_label_has_room_for_every_name(name: str) -> None:
    assert len(label_value(name)) <= 63
    assert LABEL_VALUE.fullmatch(label_value(name))


@given(ANY, st.integers(20, 63))
def test_every_name_gives_a_dns_label(name: str, longest: int) -> None:
    assert len(dns_label(name, longest)) <= longest
    assert DNS_LABEL.fullmatch(dns_label(name, longest))


@given(ANY, st.sampled_from(["-1", "-29724480", "-50-a-variant-by-the-name", ".0123456789ab"]))
def test_every_name_can_be_extended(name: str, suffix: str) -> None:
    assert is_name(extended(name, suffix))
    assert extended(name, suffix).endswith(suffix)


@pytest.mark.parametrize("name", ["a", "a" * 40, "a-1"])
def test_a_name_that_fits_is_used_as_it_is(name: str) -> None:
    assert (label_value(name), dns_label(name, 40), extended(name, "-1")) == (name, name, f"{name}-1")


@pytest.mark.parametrize(("one", "other"), list(combinations(filter(is_name, ALIKE), 2)))
def test_names_that_are_alike_give_different_labels_and_names(one: str, other: str) -> None:
    assert label_value(one) != label_value(other)
    assert dns_label(one, 40) != dns_label(other, 40)
    assert extended(one, "-1") != extended(other, "-1")


@given(ANY, ANY)
def test_two_names_never_give_the_same_label(one: str, other: str) -> None:
    assert (label_value(one) == label_value(other)) == (one == other)
    assert label_value(one) == one or not is_name(label_value(one))
