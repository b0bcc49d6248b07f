from typing import get_args

import pytest
from sshload_contract.steps import TIMINGS, WHOLE_STEPS, ScenarioStep
from sshload_contract.vocabulary import PARTS_OF_AUTH, Timing, is_of_jump_host, measured_step, owner_and_timing

PARTS_OF_A_LOGIN = (Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH, *PARTS_OF_AUTH, Timing.LOGIN)


@pytest.mark.parametrize("step", Timing)
def test_a_jump_hosts_timings_are_those_of_its_login_whatever_steps_are_named(step: str) -> None:
    assert is_of_jump_host(measured_step("via1", step)) is (step in PARTS_OF_A_LOGIN)
    assert not is_of_jump_host(measured_step("via", step))
    assert not is_of_jump_host(step)


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("owner", ["", "uptime", "via1", "auth"])
def test_a_published_timing_is_of_its_owner(owner: str, timing: str) -> None:
    assert owner_and_timing(measured_step(owner, timing)) == (owner, timing)


def test_what_is_timed_is_listed_in_the_order_in_which_it_happens() -> None:
    assert list(TIMINGS) == [
        *("startDelay", "connect", "banner", "kex", "auth"),
        *("auth.publickey", "auth.password", "auth.gssapi", "auth.kdc", "auth.keyboardInteractive"),
        *("auth.prompt1", "auth.prompt2", "auth.prompt3", "auth.verdict"),
        *("login", "tls", "channelOpen", "subsystem", "exec"),
        *("shellStart", "echo", "open", "firstByte", "advertise", "read", "write", "close", "transfer", "verify"),
        *("keepAlive", "gatewayWait", "gatewayLogin", "gatewayCommand", "command"),
        *("sftpRead", "sftpWrite", "sftpList", "sftpStat", "sftpMkdir", "sftpRmdir", "sftpRename", "sftpRemove"),
        *("sftpSymlink", "sftpSetstat", "scpRead", "scpWrite", "shell", "forward", "gitUploadPack", "rsync"),
        *("hold", "total"),
    ]
    assert list(WHOLE_STEPS) == ["login", *TIMINGS[TIMINGS.index("command") :]]


@pytest.mark.parametrize(
    ("kind", "timings"),
    {
        "exec": "channelOpen exec firstByte read close command",
        "sftpRead": "subsystem open firstByte read close sftpRead",
        "sftpWrite": "subsystem open write close verify sftpWrite",
        **{
            name: f"subsystem {name}"
            for name in (
                *("sftpList", "sftpStat", "sftpMkdir", "sftpRmdir", "sftpRename", "sftpRemove", "sftpSymlink"),
                "sftpSetstat",
            )
        },
        "scpRead": "open firstByte read close scpRead",
        "scpWrite": "open write close verify scpWrite",
        "shell": "channelOpen shellStart echo close shell",
        "forward": "channelOpen echo close forward",
        "gitUploadPack": "channelOpen exec advertise firstByte read close gitUploadPack",
        "rsync": "channelOpen exec transfer close rsync",
        "sleep": "",
    }.items(),
)
def test_a_kind_of_step_takes_these_timings_the_whole_step_last(kind: str, timings: str) -> None:
    (step,) = (one for one in get_args(ScenarioStep) if one.kind == kind)
    assert [*map(str, step.timings)] == timings.split()
