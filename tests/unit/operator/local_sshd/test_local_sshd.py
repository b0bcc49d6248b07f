import pytest
from sshload_operator.local_sshd import installed_sshd, without_unknown_directives

CONFIG = "UseDNS no\nPerSourcePenalties no\nMaxStartups 10:30:100\n"


def test_an_sshd_without_penalties_is_not_asked_to_leave_them_off() -> None:
    kept, left_out = without_unknown_directives(CONFIG, (9, 2))
    assert kept == "UseDNS no\nMaxStartups 10:30:100\n"
    assert left_out == ("PerSourcePenalties no",)


@pytest.mark.parametrize("version", [pytest.param((9, 8), id="9.8"), pytest.param((10, 0), id="10.0")])
def test_an_sshd_with_penalties_is_asked_to_leave_them_off(version: tuple[int, int]) -> None:
    assert without_unknown_directives(CONFIG, version) == (CONFIG, ())


def test_penalties_that_were_asked_for_are_never_dropped() -> None:
    asked = "PerSourcePenalties authfail:5s\n"
    assert without_unknown_directives(asked, (9, 2)) == (asked, ())


def test_this_machines_sshd_tells_its_name_and_version() -> None:
    sshd = installed_sshd()
    assert sshd.name.startswith(f"OpenSSH_{sshd.version[0]}.{sshd.version[1]}")
