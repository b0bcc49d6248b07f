"""Sessions of browsers: bounded in number and time, and no name of one is ever another's."""

from dataclasses import dataclass

from sshload_operator.control.pages.server import MOST_OF_A_USER, MOST_SESSIONS, SESSION_KEEPS_S, Sessions


@dataclass(slots=True)
class Clock:
    """A clock that tests set."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_session_stands_for_its_token_until_it_is_ended() -> None:
    sessions = Sessions()
    name, other = sessions.begin("a-token", "anna"), sessions.begin("another-token", "ben")
    assert (sessions.token(name), sessions.token(other)) == ("a-token", "another-token")
    sessions.end(name)
    assert (sessions.token(name), sessions.token(other)) == ("", "another-token")


def test_no_session_outlives_its_time() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    name = sessions.begin("a-token", "anna")
    clock.now_s = SESSION_KEEPS_S - 1
    assert sessions.token(name) == "a-token"
    clock.now_s = SESSION_KEEPS_S
    assert sessions.token(name) == ""


def test_where_a_user_has_too_many_the_oldest_of_that_user_ends() -> None:
    sessions = Sessions()
    other = sessions.begin("of-ben", "ben")
    first, *others = [sessions.begin(f"token-{number}", "anna") for number in range(MOST_OF_A_USER + 1)]
    assert sessions.token(first) == ""
    assert sessions.token(others[0]) == "token-1"
    assert sessions.token(other) == "of-ben"


def test_where_there_are_too_many_the_oldest_of_the_user_ends_who_has_most() -> None:
    sessions = Sessions()
    other = sessions.begin("of-ben", "ben")
    busy = [sessions.begin("of-anna", "anna") for _ in range(2)]
    for number in range(MOST_SESSIONS - 2):
        sessions.begin("a-token", f"user-{number}")
    assert [bool(sessions.token(name)) for name in (other, *busy)] == [True, False, True]


def test_no_name_and_the_name_of_nobody_are_no_session() -> None:
    assert Sessions().token("") == ""
    assert Sessions().token("guessed") == ""
