"""Sessions of browsers: bounded in number and time, and no name of one is ever another's."""

from dataclasses import dataclass

from sshload_operator.control.pages.server import MOST_SESSIONS, SESSION_KEEPS_S, Sessions


@dataclass(slots=True)
class Clock:
    """A clock that tests set."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_session_stands_for_its_token_until_it_is_ended() -> None:
    sessions = Sessions()
    name, other = sessions.begin("a-token"), sessions.begin("another-token")
    assert (sessions.token(name), sessions.token(other)) == ("a-token", "another-token")
    sessions.end(name)
    assert (sessions.token(name), sessions.token(other)) == ("", "another-token")


def test_no_session_outlives_its_time() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    name = sessions.begin("a-token")
    clock.now_s = SESSION_KEEPS_S - 1
    assert sessions.token(name) == "a-token"
    clock.now_s = SESSION_KEEPS_S
    assert sessions.token(name) == ""


def test_where_there_are_too_many_the_oldest_session_ends() -> None:
    sessions = Sessions()
    first, *others = [sessions.begin(f"token-{number}") for number in range(MOST_SESSIONS + 1)]
    assert sessions.token(first) == ""
    assert sessions.token(others[0]) == "token-1"


def test_no_name_and_the_name_of_nobody_are_no_session() -> None:
    assert Sessions().token("") == ""
    assert Sessions().token("guessed") == ""
