import asyncio
import socket
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from sshload_contract.allow_list import AllowedTarget, DeniedRange
from sshload_gateway.ssh.destinations import Destinations, destinations, resolve
from sshload_gateway.ssh.failures import LoginError, LoginFailure

PUBLIC = "203.0.113.7"


def _leading_to(*addresses: str, allowed: Sequence[AllowedTarget], denied: Sequence[DeniedRange] = ()) -> Destinations:
    async def resolver(_name: str, _port: int) -> Sequence[str]:
        return addresses

    return replace(destinations(allowed, denied), resolver=resolver)


ANY_NAME = (AllowedTarget("*.example.com", (22,)),)


def test_a_name_that_is_allowed_leads_to_exactly_its_addresses() -> None:
    found = _leading_to(PUBLIC, "2001:db8::7", allowed=ANY_NAME)

    assert [str(one) for one in asyncio.run(found.addresses("a.example.com", 22))] == [PUBLIC, "2001:db8::7"]


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "172.16.3.4",
        "192.168.1.1",
        "100.64.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "0.0.0.0",  # noqa: S104 - an address to refuse
        "::1",
        "fd00::1",
        "fe80::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
    ],
)
def test_a_name_that_leads_inside_is_refused(address: str) -> None:
    for addresses in ((address,), (PUBLIC, address)):
        found = _leading_to(*addresses, allowed=ANY_NAME)
        with pytest.raises(LoginError) as refused:
            asyncio.run(found.addresses("a.example.com", 22))
        assert refused.value.kind is LoginFailure.NOT_ALLOWED
        assert address not in refused.value.detail


def test_names_that_hang_keep_no_other_work_of_threads_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()

    def hang(*_arguments: object, **_more: object) -> list[object]:
        answered.wait()
        raise OSError

    async def claim() -> None:
        lookups = [asyncio.ensure_future(resolve(f"{number}.example.com", 22)) for number in range(100)]
        try:
            assert await asyncio.to_thread(lambda: "done") == "done"
            assert not any(lookup.done() for lookup in lookups)
        finally:
            answered.set()
        ended = await asyncio.gather(*lookups, return_exceptions=True)
        assert {type(one) for one in ended} == {OSError}

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    asyncio.run(asyncio.wait_for(claim(), 300))


def test_a_name_may_lead_inside_where_an_entry_lists_that_range() -> None:
    found = _leading_to("10.1.2.3", allowed=(*ANY_NAME, AllowedTarget("10.1.2.0/24", (22,))))

    assert asyncio.run(found.addresses("a.example.com", 22))


def test_a_range_that_the_configuration_denies_is_refused_and_the_log_says_which(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = _leading_to(PUBLIC, allowed=ANY_NAME, denied=(DeniedRange("203.0.113.0/24", "ours"),))
    with pytest.raises(LoginError, match="an address that this gateway does not connect to"):
        asyncio.run(found.addresses("a.example.com", 22))
    assert "203.0.113.0/24" in caplog.text


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("a.example.com", 23),
        ("example.com", 22),
        ("a.example.com.evil.net", 22),
        ("10.0.0.1", 22),
        ("0x7f.1", 22),
        ("2130706433", 22),
        ("kubernetes.default.svc", 22),
        ("localhost", 22),
        ("", 22),
        ("a.example.com\n", 22),
        ("a.exámple.com", 22),
    ],
)
def test_a_host_that_is_not_listed_is_refused_before_it_is_resolved(host: str, port: int) -> None:
    found = _leading_to(PUBLIC, allowed=ANY_NAME)

    assert found.refusal(host, port)
    with pytest.raises(LoginError) as refused:
        asyncio.run(found.addresses(host, port))
    assert refused.value.kind is LoginFailure.NOT_ALLOWED


def test_a_name_without_address_is_unresolved() -> None:
    with pytest.raises(LoginError) as unresolved:
        asyncio.run(_leading_to(allowed=ANY_NAME).addresses("a.example.com", 22))
    assert unresolved.value.kind is LoginFailure.UNRESOLVED
