"""Our own lines come first, because sshd takes the first value it finds."""

from dataclasses import replace
from pathlib import Path

import pytest
from sshload_target.errors import ConfigRefusedError
from sshload_target.facts import read_facts
from sshload_target.sshd.program import OwnSettings, check_measurable, render_sshd_config

OWN = OwnSettings(
    port=2222,
    listen_address="",
    host_keys=(Path("/private/ssh_host_ed25519_key"), Path("/private/ssh_host_ecdsa_key")),
    authorized_keys=Path("/home/load/.ssh/authorized_keys"),
    user_ca=None,
    check_modes=True,
)


def test_the_given_text_is_included_last_so_that_no_match_block_swallows_our_lines() -> None:
    assert render_sshd_config(OWN, Path("/private/sshd_config")) == (
        "Port 2222\n"
        'HostKey "/private/ssh_host_ed25519_key"\n'
        'HostKey "/private/ssh_host_ecdsa_key"\n'
        "PidFile none\n"
        'AuthorizedKeysFile "/home/load/.ssh/authorized_keys"\n'
        'Include "/private/sshd_config"\n'
    )


def test_an_address_and_a_home_elsewhere_are_stated() -> None:
    own = OwnSettings(2222, "127.0.0.1", (), Path("/tmp/home/.ssh/authorized_keys"), None, check_modes=False)
    lines = render_sshd_config(own, Path("/private/sshd_config")).splitlines()
    assert "ListenAddress 127.0.0.1" in lines
    assert "StrictModes no" in lines


def test_a_certificate_authority_is_trusted_where_there_is_one() -> None:
    own = replace(OWN, user_ca=Path("/keys/user_ca.pub"))
    assert 'TrustedUserCAKeys "/keys/user_ca.pub"' in render_sshd_config(own, Path("/private/sshd_config")).splitlines()


def test_certificates_of_the_host_keys_and_revoked_keys_are_named_where_there_are_some() -> None:
    own = replace(OWN, host_certificates=(Path("/keys/a-cert.pub"),), revoked_keys=Path("/private/revoked_keys"))
    lines = render_sshd_config(own, Path("/private/sshd_config")).splitlines()
    assert 'HostCertificate "/keys/a-cert.pub"' in lines
    assert 'RevokedKeys "/private/revoked_keys"' in lines


def test_a_percent_in_the_home_is_no_token_of_sshds() -> None:
    own = OwnSettings(2222, "", (), Path("/home/100%u/.ssh/authorized_keys"), None, check_modes=True)
    assert 'AuthorizedKeysFile "/home/100%%u/.ssh/authorized_keys"' in render_sshd_config(
        own, Path("/private/sshd_config")
    )


@pytest.mark.parametrize("folder", ['a"b', "a\nPermitRootLogin yes", "a\\b", "a*b", "a[b]", "a{b}"])
def test_a_path_that_sshd_would_read_as_another_is_refused(folder: str) -> None:
    """An Include that matches no file is passed over by sshd in silence, and another configuration measured."""
    with pytest.raises(ConfigRefusedError, match="sshd cannot be given the path"):
        render_sshd_config(OWN, Path("/private") / folder / "sshd_config")


@pytest.mark.parametrize("level", ["INFO", "VERBOSE", "DEBUG", "DEBUG1", "DEBUG3"])
def test_log_levels_that_tell_of_logins_are_taken(level: str) -> None:
    assert check_measurable(f"port 2222\nloglevel {level}\n", 2222) == ""


@pytest.mark.parametrize("level", ["QUIET", "FATAL", "ERROR"])
def test_log_levels_that_hide_logins_are_objected_to(level: str) -> None:
    assert level in check_measurable(f"port 2222\nloglevel {level}\n", 2222)


@pytest.mark.parametrize("effective", ["port 2222\nport 22\nloglevel INFO\n", "port 22\nloglevel INFO\n"])
def test_a_port_of_its_own_is_objected_to(effective: str) -> None:
    assert "Port" in check_measurable(effective, 2222)


def test_a_value_with_another_end_of_line_says_nothing_of_other_settings() -> None:
    """Such as U+2028, which sshd takes as any other character (extraConfig: Banner)."""
    effective = "port 2222\nbanner /x\u2028usepam yes\u2028port 3333\nloglevel INFO\nusepam no\n"
    assert read_facts(effective, "nobody").pam is False
    assert check_measurable(effective, 2222) == ""
