"""When an SSH server counts as usable again: one that was used is asked for its version first."""

from types import SimpleNamespace
from typing import Any

import pytest
from sshload_worker.clients.offers import NoOfferError
from sshload_worker.scenario import first_login, target_sessions
from sshload_worker.scenario.target_sessions import SshServer


@pytest.mark.parametrize(("opened", "is_asked"), [(0, False), (1, True), (50, True)])
def test_a_server_is_asked_after_any_connection_and_not_before(
    opened: int, monkeypatch: pytest.MonkeyPatch, *, is_asked: bool
) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(target_sessions, "dial_until_banner", lambda *where: asked.append(where[:2]))
    server = SshServer(login=None, addresses=())  # type: ignore[arg-type]
    assert server.wait_until_usable(opened, "192.0.2.7", 22, lambda _: None) is is_asked
    assert asked == ([("192.0.2.7", 22)] if is_asked else [])


ADDRESSES: Any = (("first",), ("second",))


def better_kex(monkeypatch: pytest.MonkeyPatch, offer: Any, addresses: Any = ADDRESSES, via: Any = ()) -> str | None:
    """Return what the server would rather have done; `offer` is asked for by its address."""
    monkeypatch.setattr(first_login, "server_offer", offer)
    monkeypatch.setattr(first_login, "known_algorithms", lambda _: {"kex_algorithms": ("curve25519-sha256",)})
    login: Any = SimpleNamespace(via=via, client=SimpleNamespace(library="paramiko", kex_algorithms=()))
    return SshServer(login, addresses).better_kex()


def test_the_server_that_was_logged_in_to_is_asked_what_it_would_rather_have_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offers = {("first",): ("mlkem768x25519-sha256", "curve25519-sha256"), ("second",): ("curve25519-sha256",)}
    assert better_kex(monkeypatch, lambda at: {"kex_algorithms": offers[at]}) == "mlkem768x25519-sha256"
    assert better_kex(monkeypatch, lambda at: {"kex_algorithms": offers[at]}, ADDRESSES[1:]) == ""


def test_what_cannot_be_asked_is_not_known_and_not_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(_: Any) -> Any:
        raise NoOfferError("it says nothing")

    def never(_: Any) -> Any:
        raise AssertionError("behind a jump host nobody is asked")

    assert better_kex(monkeypatch, silent) is None
    assert better_kex(monkeypatch, never, via=("a jump host",)) is None
    assert better_kex(monkeypatch, never, addresses=()) is None
