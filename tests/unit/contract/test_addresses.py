"""Every spelling of an address that a resolver would read is read, and IPv4 is found inside of IPv6."""

import socket
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.addresses import ends_in_number, forms, read_address


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7.", "192.0.2.7"),
        ("192.0.519", "192.0.2.7"),
        ("0xC0.0x2.7", "192.2.0.7"),
        ("3221225991", "192.0.2.7"),
        ("0xc0000207", "192.0.2.7"),
        ("2001:DB8:0::1", "2001:db8::1"),
    ],
)
def test_an_address_is_read_however_it_is_written(host: str, address: str) -> None:
    assert read_address(host) == ip_address(address)


@pytest.mark.parametrize(
    "host", ["0177.1", "192.0.2.07", "192.0.2.256", "256.1", "1.2.3.4.5", "4294967296", "", "a.1", "9" * 5_000]
)
def test_what_resolvers_read_differently_or_not_at_all_is_no_address(host: str) -> None:
    assert read_address(host) is None


numbers = st.one_of(st.integers(0, 300), st.integers(0, 2**33))
spellings = st.lists(
    st.builds(format, numbers, st.sampled_from(("d", "#x", "#X"))),
    min_size=1,
    max_size=5,
)


@given(spellings)
def test_numbers_are_read_as_the_c_library_reads_them(parts: list[str]) -> None:
    host = ".".join(parts)
    try:
        expected = socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        assert read_address(host) is None
    else:
        assert str(read_address(host)) == expected


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "example.0x7f", "example.1.", "1.2.3.4.5", "0x"])
def test_a_host_whose_last_label_is_a_number_is_no_name(host: str) -> None:
    assert ends_in_number(host)


@pytest.mark.parametrize("host", ["1.example", "10.1.evil.com", "0x7f.com", "x1", "7f", "0xyz"])
def test_any_other_host_may_be_a_name(host: str) -> None:
    assert not ends_in_number(host)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("192.0.2.7", {"192.0.2.7"}),
        ("2001:db8::1", {"2001:db8::1"}),
        ("::", {"::"}),
        ("::1", {"::1"}),
        ("::ffff:192.0.2.7", {"192.0.2.7"}),
        ("::192.0.2.7", {"192.0.2.7"}),
        ("64:ff9b::192.0.2.7", {"64:ff9b::c000:207", "192.0.2.7"}),
        ("2002:c000:207::1", {"2002:c000:207::1", "192.0.2.7"}),
        ("::ffff:0:192.0.2.7", {"::ffff:0:c000:207", "192.0.2.7"}),
        ("2001:db8::5efe:192.0.2.7", {"2001:db8::5efe:c000:207", "192.0.2.7"}),
        ("2001:db8::200:5efe:192.0.2.7", {"2001:db8::200:5efe:c000:207", "192.0.2.7"}),
        ("2001:0:c633:6401::3fff:fdf8", {"2001:0:c633:6401::3fff:fdf8", "198.51.100.1", "192.0.2.7"}),
        ("64:ff9b:1:1:2:3:192.0.2.7", {"64:ff9b:1:1:2:3:c000:207", "192.0.2.7"}),
    ],
)
def test_ipv4_inside_of_ipv6_is_seen(address: str, found: set[str]) -> None:
    assert {str(form) for form in forms(ip_address(address))} == found


@pytest.mark.parametrize("longer", [0, 8, 16])
def test_ipv4_is_seen_behind_each_prefix_that_a_network_of_its_own_may_have(longer: int) -> None:
    found = ip_address(int(ip_address("64:ff9b:1::")) | _around_the_reserved_byte(longer))
    assert ip_address("192.0.2.7") in forms(found)


def _around_the_reserved_byte(longer: int) -> int:
    """Return the IPv4 address behind a prefix of 48 bits and some, with bits 64 to 71 left out."""
    joined = int(ip_address("192.0.2.7")) << 40 - longer
    return (joined >> 56) << 64 | joined & (1 << 56) - 1
