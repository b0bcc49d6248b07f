import asyncio
import json
from pathlib import Path

import pytest
from gateway_process import TokenIssuer
from sshload_gateway.identity.key_set import JwksKeys, KeySetUnavailableError, from_file

FIRST, SECOND = TokenIssuer("first"), TokenIssuer("second")


class _Source:
    """A key set that changes, and counts how often it is read."""

    def __init__(self, content: str) -> None:
        self.content = content
        self.reads = 0
        self.now_s = 0.0
        self.answers = asyncio.Event()
        self.answers.set()

    async def __call__(self) -> bytes:
        self.reads += 1
        await self.answers.wait()
        if not self.content:
            raise OSError
        return self.content.encode()

    def hang(self) -> None:
        """Answer no more."""
        self.answers.clear()

    def keys(self) -> JwksKeys:
        return JwksKeys(self, lambda: self.now_s)


def test_keys_are_read_once_and_again_when_they_are_old() -> None:
    source = _Source(FIRST.jwks())
    keys = source.keys()

    async def ask() -> None:
        await asyncio.gather(*(keys.key("first") for _ in range(10)))
        assert source.reads == 1
        source.now_s = 301
        await asyncio.gather(*(keys.key("first") for _ in range(10)))
        await keys.key("unknown")  # which waits until they are read
        assert source.reads == 2

    asyncio.run(ask())


def test_a_new_key_is_found_as_soon_as_a_token_names_it() -> None:
    source = _Source(FIRST.jwks())
    keys = source.keys()

    async def ask() -> None:
        assert await keys.key("first") is not None
        source.content = SECOND.jwks()
        source.now_s = 6
        assert await keys.key("second") is not None
        assert await keys.key("first") is None

    asyncio.run(ask())


def test_made_up_key_ids_do_not_let_it_be_read_again_and_again() -> None:
    source = _Source(FIRST.jwks())
    keys = source.keys()

    async def ask() -> None:
        for number in range(100):
            assert await keys.key(f"made-up-{number}") is None

    asyncio.run(ask())
    assert source.reads == 1


def test_keys_are_used_on_where_they_cannot_be_read_again() -> None:
    source = _Source(FIRST.jwks())
    keys = source.keys()

    async def ask() -> None:
        await keys.check()
        source.content, source.now_s = "", 1_000
        assert await keys.key("first") is not None

    asyncio.run(ask())


def test_a_server_of_keys_that_hangs_delays_nobody_whose_key_is_known() -> None:
    source = _Source(FIRST.jwks())
    keys = source.keys()

    async def ask() -> None:
        await keys.check()
        source.hang()
        source.now_s = 301
        for _ in range(3):
            asked = asyncio.ensure_future(keys.key("first"))
            for _ in range(5):
                await asyncio.sleep(0)
            assert asked.done()
            assert asked.result() is not None
        assert source.reads == 2
        await keys.close()

    asyncio.run(ask())


def test_without_any_keys_there_is_no_answer_until_they_can_be_read() -> None:
    source = _Source("")
    keys = source.keys()

    async def ask() -> None:
        with pytest.raises(KeySetUnavailableError):
            await keys.key("first")
        source.content, source.now_s = FIRST.jwks(), 6
        assert await keys.key("first") is not None

    asyncio.run(ask())


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"keys": 1}', '{"keys": []}', '{"keys": [1, {"kid": 1}]}', "1"])
def test_what_is_no_key_set_is_none(content: str) -> None:
    with pytest.raises(KeySetUnavailableError):
        asyncio.run(_Source(content).keys().check())


def test_keys_of_unknown_kinds_and_for_encryption_are_left_out() -> None:
    strange = [{"kid": "a", "kty": "XX"}, {**SECOND.jwk(), "use": "enc"}, {"kty": "EC"}]
    source = _Source(json.dumps({"keys": [*strange, FIRST.jwk()]}))
    keys = source.keys()

    async def ask() -> None:
        assert await keys.key("first") is not None
        assert await keys.key("second") is None
        assert await keys.key("a") is None

    asyncio.run(ask())


def test_a_file_that_is_too_large_is_no_key_set(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(FIRST.jwks() + " " * 300_000)
    with pytest.raises(KeySetUnavailableError):
        asyncio.run(JwksKeys(from_file(path)).check())
