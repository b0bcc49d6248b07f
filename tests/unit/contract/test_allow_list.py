"""The allow-list: what its entries let through as it is written, and which addresses may be connected to."""

from ipaddress import ip_address

import pytest
from attempts import ATTEMPTS, MAPPED_ATTEMPTS, all_but_explicit
from sshload_contract.addresses import read_address
from sshload_contract.allow_list import (
    RESERVED_RANGES,
    AllowedTarget,
    AllowList,
    DeniedRange,
    address_refusal,
    closed_networks,
    entry_problem,
    forward_refusal,
    host_refusal,
    lookup_name,
    range_problem,
    reopened_networks,
)

SERVICES = DeniedRange("10.96.0.0/12", "the cluster's services")


def listing(*hosts: str, denied: tuple[DeniedRange, ...] = (SERVICES,)) -> AllowList:
    """Return a list with an entry for port 22 of each host."""
    return AllowList(tuple(AllowedTarget(host, (22,)) for host in hosts), denied)


def allows(host: str, *entries: str) -> bool:
    return not host_refusal(listing(*entries), host, 22)


@pytest.mark.parametrize(
    "host", [pytest.param(host, id=what) for what, host in {**ATTEMPTS, **MAPPED_ATTEMPTS}.items()]
)
def test_what_is_attempted_is_refused_by_the_widest_list(host: str) -> None:
    assert host_refusal(all_but_explicit(22), host, 22)


@pytest.mark.parametrize(
    "host",
    [
        pytest.param(host, id=what)
        for what, host in {**ATTEMPTS, **MAPPED_ATTEMPTS}.items()
        if read_address(host) is not None
    ],
)
def test_an_address_that_is_attempted_is_refused_whatever_name_leads_there(host: str) -> None:
    address = read_address(host)
    assert address is not None
    assert address_refusal(all_but_explicit(22), address, 22)


@pytest.mark.parametrize(
    ("host", "entry"),
    [
        ("example.com", "example.com"),
        ("EXAMPLE.com.", "example.COM"),
        ("example.com", "example.com."),
        ("a.b.example.com", "*.example.com"),
        ("example.com", "*"),
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7", "192.0.2.0/24"),
        ("192.0.2.7", "192.0.*"),
        ("0xc0000207", "192.0.2.7"),
        ("192.0.2.7", "3221225991"),
        ("2001:db8:0::1", "2001:DB8::1"),
        ("2001:db8::1", "2001:db8::/32"),
        ("64:ff9b::192.0.2.7", "192.0.2.0/24"),
    ],
)
def test_an_entry_allows_what_it_lists(host: str, entry: str) -> None:
    assert allows(host, "elsewhere.example", entry)


@pytest.mark.parametrize(
    ("host", "entry"),
    [
        ("example.com", "example.org"),
        ("example.com", "*.example.com"),
        ("a.example.com.evil.org", "*.example.com"),
        ("10.1.evil.com", "10.1.*"),
        ("example.com", "0.0.0.0/0"),
        ("192.0.2.7", "*"),
        ("192.0.2.70", "192.0.2.7"),
        ("192.0.3.7", "192.0.2.0/24"),
        ("2001:db8::1", "0.0.0.0/0"),
    ],
)
def test_an_entry_allows_nothing_else(host: str, entry: str) -> None:
    assert not allows(host, entry)


def test_an_entry_is_for_its_ports_only() -> None:
    assert host_refusal(listing("example.com"), "example.com", 2222)
    assert address_refusal(listing("127.0.0.1"), ip_address("127.0.0.1"), 2222)


@pytest.mark.parametrize(
    ("host", "entry"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0x7f.1", "2130706433"),
        ("169.254.1.1", "169.254.0.0/16"),
        ("169.254.169.254", "169.254.169.254/32"),
        ("fd00:ec2::254", "fd00:ec2::254"),
        ("10.96.0.1", "10.96.0.0/16"),
        ("10.96.0.1", "10.96.*"),
        ("git", "git"),
        ("git.forge.svc", "*.forge.svc"),
        ("git.forge.svc.cluster.local", "*.cluster.local"),
        ("git.forge.svc.example.com", "git.forge.svc.*"),
    ],
)
def test_what_is_denied_is_allowed_where_an_entry_lists_it_by_itself(host: str, entry: str) -> None:
    assert not allows(host, "*", "0.0.0.0/0", "::/0")
    assert allows(host, entry)


@pytest.mark.parametrize(
    ("host", "entry"),
    [
        pytest.param("10.96.0.1", "10.0.0.0/8", id="a range around the services"),
        pytest.param("169.254.169.254", "169.254.0.0/16", id="link-local, and metadata within"),
        pytest.param("git", "g*", id="a pattern that means more than short names"),
        pytest.param("git.forge.svc", "*svc", id="a pattern of another kind that ends alike"),
        pytest.param("git.forge.svc.cluster.local", "*.local", id="a domain around the cluster's"),
    ],
)
def test_an_entry_that_means_more_than_what_is_denied_does_not_allow_it(host: str, entry: str) -> None:
    assert not allows(host, entry)


def test_a_refusal_says_which_range_it_is() -> None:
    said = host_refusal(listing("10.0.0.0/8"), "10.96.0.1", 22)
    assert "is in 10.96.0.0/12 (the cluster's services)" in said


def test_a_managed_target_may_be_asked_to_connect_to_itself() -> None:
    nothing = AllowList((), ())
    for host in ("localhost", "127.0.0.1", "0x7f.1", "::1"):
        assert not forward_refusal(nothing, host, 80, managed=True)
        assert forward_refusal(nothing, host, 80, managed=False)
    assert forward_refusal(nothing, "169.254.169.254", 80, managed=True)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Git.example.com", "git.example.com."),
        ("git.example.com.", "git.example.com."),
        ("kubernetes.default", "kubernetes.default."),
        ("git", "git"),
        ("git.forge.svc", "git.forge.svc"),
        ("0x7f.1", "127.0.0.1"),
    ],
)
def test_names_are_looked_up_as_they_are_and_the_clusters_own_by_its_search_list(host: str, name: str) -> None:
    assert lookup_name(host) == name


@pytest.mark.parametrize(
    "host", ["*", "*.*", "*.example.com", "1?.example.com", "[0-9]*.example.com", "10.1.*.*", "::/0"]
)
def test_entries(host: str) -> None:
    assert entry_problem(host) == ""


@pytest.mark.parametrize(
    "host", ["10.*.1", "10.1.2.[0-9]", "1*", "*.1", "0x7f.*", "999.1", "300.*", "2001:db8::*", "192.0.2.1/24", "a/24"]
)
def test_an_entry_that_is_neither_a_pattern_of_names_nor_addresses_is_none(host: str) -> None:
    assert entry_problem(host)


def test_ipv4_is_listed_and_denied_as_ipv4() -> None:
    for cidr in ("::ffff:10.0.0.0/104", "::ffff:10.0.0.1"):
        assert "write it as IPv4" in entry_problem(cidr)
        assert "write it as IPv4" in range_problem(cidr)


def test_the_networks_that_stay_closed_are_all_denied_ranges_but_those_listed_as_a_whole() -> None:
    every = {denied.cidr for denied in (*RESERVED_RANGES, SERVICES)}
    assert {str(network) for network in closed_networks(listing("*", "10.0.0.0/8"), 22)} == every
    allow_list = listing("169.254.169.254", "10.96.7.0/24", "192.0.2.0/24", "127.0.0.0/8")
    assert {str(network) for network in closed_networks(allow_list, 22)} == every - {
        "169.254.169.254/32",
        "127.0.0.0/8",
    }
    assert [str(network) for network in reopened_networks(allow_list, 22)] == ["10.96.7.0/24", "169.254.169.254/32"]
    assert reopened_networks(allow_list, 2222) == ()
