from hypothesis import settings


def test_examples_are_drawn_as_in_all_other_tests() -> None:
    """By a profile of tests/conftest.py: no folder has one of its own, whose examples would differ from run to run."""
    assert settings.get_current_profile_name() in ("same", "search")
