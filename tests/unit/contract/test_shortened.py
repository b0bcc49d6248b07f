from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.shortened import shortened


def test_a_text_that_fits_stays_as_it_is() -> None:
    assert shortened("just so long", 12) == "just so long"


def test_a_text_that_is_too_long_ends_between_two_words() -> None:
    text = "the server refused the connection, which is all that is known"
    assert shortened(text, 20) == "the server refused…"
    assert shortened(text, 34) == "the server refused the…"
    assert shortened(text, 35) == "the server refused the connection…"


def test_no_comma_or_open_bracket_stays_before_the_end() -> None:
    assert shortened("the target (farm.example.com port 22) refused", 15) == "the target…"


def test_a_word_that_is_longer_than_half_of_the_room_is_cut_itself() -> None:
    assert shortened("kex: " + "x" * 100, 20) == "kex: " + "x" * 14 + "…"


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_a_shortened_text_is_never_too_long_and_begins_like_the_text(text: str, limit: int) -> None:
    short = shortened(text, limit)
    assert len(short) <= limit
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))
