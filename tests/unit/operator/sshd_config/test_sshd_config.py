"""No directive breaks out of its line, and none of the target's own can be set."""

from dataclasses import replace

import plans
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_operator.api.sshd import TARGETS_DIRECTIVES
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.manifests.target import sshd_config


def knobs(**changes: object) -> ManagedTarget:
    target = plans.plan().spec.target
    assert isinstance(target, ManagedTarget)
    sshd = replace(target.sshd, **changes)  # type: ignore[arg-type]  # the tests name fields of Sshd
    return replace(target, sshd=sshd)


def lines_of(text: str) -> list[tuple[str, str]]:
    parts = (line.partition(" ") for line in text.splitlines())
    return [(keyword, value) for keyword, _, value in parts]


@given(keyword=st.text(max_size=20), value=st.text(max_size=60))
def test_an_extra_directive_is_one_line_or_refused(keyword: str, value: str) -> None:
    try:
        text = sshd_config(knobs(extra_config={keyword: value}))
    except ValueError:
        return
    plain = {name.lower() for name, _ in lines_of(sshd_config(knobs()))}
    assert text.count("\n") == len(plain | {keyword.lower()})
    assert text.startswith(f"{keyword} {value}\n")


@pytest.mark.parametrize("end", ["\n", "\r", "\x00", "\x1b"])
def test_a_line_break_is_refused_wherever_it_stands(end: str) -> None:
    for changes in ({"max_startups": f"10{end}Port 22"}, {"extra_config": {"Banner": f"x{end}"}}, {"ciphers": (end,)}):
        with pytest.raises(ValueError, match=r"control character|has no value"):
            sshd_config(knobs(**changes))


@pytest.mark.parametrize("keyword", sorted(TARGETS_DIRECTIVES))
def test_what_the_target_settles_cannot_be_set(keyword: str) -> None:
    with pytest.raises(ValueError, match="cannot be set"):
        sshd_config(knobs(extra_config={keyword.upper(): "1"}))


@pytest.mark.parametrize("value", ["", " ", "\t"])
def test_a_directive_without_a_value_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="has no value"):
        sshd_config(knobs(extra_config={"Banner": value}))


def test_an_extra_directive_stands_in_place_of_ours() -> None:
    lines = lines_of(sshd_config(knobs(extra_config={"subsystem": "sftp /bin/other"})))
    assert [value for keyword, value in lines if keyword.lower() == "subsystem"] == ["sftp /bin/other"]


def test_no_directive_stands_twice() -> None:
    keywords = [keyword.lower() for keyword, _ in lines_of(sshd_config(knobs(extra_config={"USEDNS": "yes"})))]
    assert len(keywords) == len(set(keywords))


def test_penalties_are_off_unless_asked_for() -> None:
    assert ("PerSourcePenalties", "no") in lines_of(sshd_config(knobs()))
    assert ("PerSourcePenalties", "yes") in lines_of(sshd_config(knobs(per_source_penalties="yes")))


def test_only_the_load_user_may_log_in() -> None:
    assert ("AllowUsers", "load") in lines_of(sshd_config(knobs()))
    assert ("AllowUsers", "me") in lines_of(sshd_config(knobs(), "me"))


def test_a_grace_time_is_never_rounded_down_to_none() -> None:
    assert ("LoginGraceTime", "1") in lines_of(sshd_config(knobs(login_grace_time_s=0.2)))
