"""Who is let in at a port that is full, and who has to go for it."""

import random

from sshload_contract.front.admission import Admission, Limits, address_of


def admission(connections: int = 4, per_address: int = 2) -> Admission[str]:
    return Admission(Limits(connections, per_address))


def test_an_address_that_has_all_it_may_have_loses_its_own_oldest_connection() -> None:
    port = admission()
    assert [port.admit(name, "a") for name in ("a1", "a2")] == [None, None]
    assert port.admit("b1", "b") is None
    assert port.admit("a3", "a") == "a1"
    assert port.admit("a4", "a") == "a2"


def test_a_full_port_makes_room_at_the_address_that_has_most() -> None:
    port = admission()
    for name, address in (("b1", "b"), ("a1", "a"), ("c1", "c"), ("a2", "a")):
        assert port.admit(name, address) is None
    assert port.admit("d1", "d") == "a1"


def test_nobody_goes_who_is_being_served() -> None:
    port = admission()
    for name in ("a1", "a2"):
        port.admit(name, "a")
        port.keep(name)
    assert port.admit("a3", "a") == "a3"
    port.wait("a2")
    assert port.admit("a3", "a") == "a2"
    for name in ("b1", "b2"):
        port.admit(name, "b")
    for name in ("a3", "b1", "b2"):
        port.keep(name)
    assert port.admit("c1", "c") == "c1"


def test_who_was_served_waits_last_in_line() -> None:
    port = admission()
    port.admit("a1", "a")
    port.admit("a2", "a")
    port.keep("a1")
    port.wait("a1")
    assert port.admit("a3", "a") == "a2"


def test_who_waits_already_keeps_the_place_however_often_it_is_said_to_wait() -> None:
    port = admission()
    for name in ("a1", "a2"):
        port.admit(name, "a")
    port.wait("a1")
    assert port.admit("a3", "a") == "a1"


def test_the_caps_hold_and_all_room_comes_back_whatever_happens() -> None:
    for seed in range(50):
        drawn, port = random.Random(seed), admission(6, 3)  # noqa: S311 - nothing secret
        inside: dict[str, str] = {}
        for number in range(300):
            name, address = str(number), drawn.choice("abcd")
            leaving = port.admit(name, address)
            if leaving is not None and leaving != name:
                del inside[leaving]
            if leaving != name:
                inside[name] = address
            for other in [other for other in inside if drawn.random() < 0.1]:
                drawn.choice((port.keep, port.wait))(other)
            for other in [other for other in inside if drawn.random() < 0.1]:
                port.remove(other)
                del inside[other]
            port.wait("nobody")
            assert len(inside) <= 6
            assert all(list(inside.values()).count(letter) <= 3 for letter in "abcd")
        for other in inside:
            port.remove(other)
        assert [port.admit(name, letter) for name, letter in (("x1", "a"), ("x2", "a"), ("x3", "a"))] == [None] * 3


def test_nothing_is_kept_of_addresses_that_are_gone() -> None:
    port = admission()
    for number in range(100):
        port.admit("one", f"2001:db8::{number:x}")
        port.remove("one")
    assert not port._counts


def test_an_address_of_ipv4_is_the_same_whatever_the_socket() -> None:
    assert address_of(("::ffff:192.0.2.7", 1, 0, 0)) == address_of(("192.0.2.7", 1)) == "192.0.2.7"
    assert address_of(("2001:db8::7", 1, 0, 0)) == "2001:db8::7"
    assert not address_of(None)
