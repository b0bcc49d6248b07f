import base64
import hashlib
import hmac
import subprocess
from itertools import permutations
from pathlib import Path

import pytest
from sshload_worker.login import known_hosts
from sshload_worker.login.known_hosts import ANY_HOST_KEY, KnownHostsError, read_known_hosts, shown_key

KEY = b"\x00\x00\x00\x0bssh-ed25519" + b"k" * 36
OTHER = b"\x00\x00\x00\x0bssh-ed25519" + b"o" * 36
RSA = b"\x00\x00\x00\x07ssh-rsa" + b"r" * 36
RSA64 = base64.b64encode(RSA).decode()
KEY64 = base64.b64encode(KEY).decode()
RSA = b"\x00\x00\x00\x07ssh-rsa" + b"r" * 36
RSA64 = base64.b64encode(RSA).decode()
OTHER64 = base64.b64encode(OTHER).decode()


def hashed(name: str) -> str:
    salt = b"0123456789abcdefghij"
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


@pytest.mark.parametrize(
    ("hosts", "host", "port"),
    [
        pytest.param("server", "server", 22, id="a name"),
        pytest.param("server", "SERVER", 22, id="names have no case"),
        pytest.param("other,server", "server", 22, id="one of several"),
        pytest.param("server,other", "server", 22, id="the first of several"),
        pytest.param("!other,server", "server", 22, id="beside an exception for another"),
        pytest.param("[server]:2222", "server", 2222, id="another port"),
        pytest.param("[127.0.0.1]:2222", "127.0.0.1", 2222, id="an address at another port"),
        pytest.param("[fe80::1]:2222", "fe80::1", 2222, id="an IPv6 address"),
        pytest.param("*.example.org", "a.example.org", 22, id="a star"),
        pytest.param("serve?", "server", 22, id="a question mark"),
        pytest.param("[*.example.org]:2222", "a.example.org", 2222, id="a star at another port"),
        pytest.param(hashed("server"), "server", 22, id="hashed"),
        pytest.param(hashed("[server]:2222"), "server", 2222, id="hashed at another port"),
    ],
)
def test_a_line_for_the_host_makes_its_key_known(hosts: str, host: str, port: int) -> None:
    keys = read_known_hosts(f"{hosts} ssh-ed25519 {KEY64} a comment\n", host, port)
    assert keys.accepts(KEY)
    assert not keys.accepts(OTHER)
    assert keys.algorithms == ("ssh-ed25519",)


@pytest.mark.parametrize(
    ("hosts", "host", "port"),
    [
        pytest.param("[server]:2222", "server", 22, id="the name with another port"),
        pytest.param("[server]:22", "server", 22, id="the name with the port that is never written"),
        pytest.param("server", "server2", 22, id="a longer name"),
        pytest.param("*.example.org,!a.example.org", "a.example.org", 22, id="an exception"),
        pytest.param("!a.example.org,*.example.org", "a.example.org", 22, id="an exception before"),
        pytest.param("[ab]", "a", 22, id="brackets are no character class"),
        pytest.param(hashed("other"), "server", 22, id="hashed for another"),
        pytest.param("|1|!|!", "server", 22, id="a hash that is none"),
        pytest.param(hashed("server").replace("|1|", "|1|!"), "server", 22, id="a salt with a letter too many"),
        pytest.param(f"{hashed('server')}!", "server", 22, id="a hash with a letter too many"),
        pytest.param("#a,server", "server", 22, id="a comment"),
    ],
)
def test_a_line_for_others_makes_nothing_known(hosts: str, host: str, port: int) -> None:
    assert not read_known_hosts(f"{hosts} ssh-ed25519 {KEY64}\n", host, port).accepts(KEY)


@pytest.mark.parametrize("hosts", ["server", "*", hashed("server")])
def test_a_line_without_a_port_will_do_at_another_port_where_none_names_that(hosts: str) -> None:
    keys = read_known_hosts(f"{hosts} ssh-ed25519 {KEY64}\n[server]:2223 ssh-ed25519 {OTHER64}\n", "server", 2222)
    assert keys.accepts(KEY)
    assert not keys.accepts(OTHER)


def test_a_line_with_the_port_comes_before_one_without_it_for_keys_of_its_type() -> None:
    text = f"server ssh-ed25519 {OTHER64}\nserver ssh-rsa {RSA64}\n[server]:2222 ssh-ed25519 {KEY64}\n"
    keys = read_known_hosts(text, "server", 2222)
    assert [keys.accepts(key) for key in (KEY, OTHER, RSA)] == [True, False, True]


@pytest.mark.parametrize("marker", ["@cert-authority", "@revoked"])
def test_a_marked_line_with_the_port_hides_no_key_without_it(marker: str) -> None:
    text = f"server ssh-ed25519 {KEY64}\n{marker} [server]:2222 ssh-ed25519 {OTHER64}\n"
    assert read_known_hosts(text, "server", 2222).accepts(KEY)


def test_a_key_that_is_revoked_without_a_port_is_revoked_at_each() -> None:
    text = f"[server]:2222 ssh-ed25519 {KEY64}\n@revoked server ssh-ed25519 {KEY64}\n"
    assert not read_known_hosts(text, "server", 2222).accepts(KEY)


def test_a_certificate_is_asked_for_before_a_key_where_an_authority_is_known() -> None:
    line, authority = f"server ssh-ed25519 {KEY64}\n", f"@cert-authority * ssh-ed25519 {OTHER64}\n"
    both = read_known_hosts(line + authority, "server", 22).algorithms_with_certificates
    assert both[0] == "ssh-ed25519-cert-v01@openssh.com"
    assert both[-1] == "ssh-ed25519"
    assert read_known_hosts(line, "server", 22).algorithms_with_certificates == ("ssh-ed25519",)
    assert read_known_hosts(authority, "server", 22).algorithms_with_certificates == ()


def test_a_revoked_key_is_refused_even_where_another_line_knows_it() -> None:
    text = f"server ssh-ed25519 {KEY64}\n@revoked * ssh-ed25519 {KEY64}\n"
    assert not read_known_hosts(text, "server", 22).accepts(KEY)


def test_a_certificate_authority_is_no_host_key() -> None:
    assert not read_known_hosts(f"@cert-authority * ssh-ed25519 {KEY64}\n", "server", 22).accepts(KEY)


def test_comments_and_empty_lines_are_passed_over() -> None:
    assert read_known_hosts(f"# a comment\n\nserver ssh-ed25519 {KEY64}\n", "server", 22).accepts(KEY)


@pytest.mark.parametrize("lines", [*permutations((f"server ssh-ed25519 {KEY64}", f"server ssh-rsa {RSA64}"))])
def test_a_host_may_have_several_keys_and_the_order_of_their_lines_does_not_matter(lines: tuple[str, ...]) -> None:
    keys = read_known_hosts("\n".join(lines), "server", 22)
    assert keys.accepts(KEY)
    assert keys.accepts(RSA)
    assert keys.algorithms == ("ssh-ed25519", "rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("server ssh-ed25519", id="no key"),
        pytest.param("server ssh-ed25519 !!!", id="no base64"),
        pytest.param(f"server ssh-ed25519 {KEY64[:20]}!{KEY64[20:]}", id="a letter that base64 has not"),
        pytest.param(f"@unheard-of server ssh-ed25519 {KEY64}", id="an unknown marker"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str) -> None:
    with pytest.raises(KnownHostsError, match="line 2"):
        read_known_hosts(f"# first\n{line}\n", "server", 22)


BAD_LINES = [
    pytest.param("{host} ssh-ed25519", id="no key"),
    pytest.param("{host} ssh-ed25519 !!!", id="no base64"),
    pytest.param("{host} ssh-rsa " + KEY64, id="a key of another type"),
    pytest.param("{host}", id="only a host"),
    pytest.param("@unheard-of {host} ssh-ed25519 " + KEY64, id="an unknown marker"),
    pytest.param("@revoked {host} ssh-ed25519 !!!", id="revoked and no base64"),
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_line_of_another_host_that_cannot_be_read_is_skipped(line: str) -> None:
    text = f"{line.format(host='other')}\nserver ssh-ed25519 {KEY64}\n"
    assert read_known_hosts(text, "server", 22).accepts(KEY)


@pytest.mark.parametrize("line", BAD_LINES[:4])
def test_a_line_that_cannot_be_read_is_skipped_beside_another_of_the_host(line: str) -> None:
    text = f"{line.format(host='server')}\nserver ssh-ed25519 {KEY64}\n"
    assert read_known_hosts(text, "server", 22).accepts(KEY)


@pytest.mark.parametrize("line", BAD_LINES[:4])
def test_a_line_that_cannot_be_read_is_skipped_beside_an_authority_for_the_host(line: str) -> None:
    text = f"{line.format(host='server')}\n@cert-authority server ssh-ed25519 {KEY64}\n"
    assert read_known_hosts(text, "server", 22).authorities == {KEY}


@pytest.mark.parametrize("line", BAD_LINES[4:])
def test_a_line_of_the_host_that_may_revoke_a_key_must_be_legible(line: str) -> None:
    text = f"{line.format(host='server')}\nserver ssh-ed25519 {KEY64}\n"
    with pytest.raises(KnownHostsError, match="line 1"):
        read_known_hosts(text, "server", 22)


def test_a_byte_order_mark_belongs_to_no_host() -> None:
    assert read_known_hosts(f"\ufeffserver ssh-ed25519 {KEY64}\n", "server", 22).accepts(KEY)


def test_any_key_is_accepted_only_when_asked_for() -> None:
    assert ANY_HOST_KEY.accepts(KEY)
    assert not read_known_hosts("", "server", 22).accepts(KEY)


def test_what_ssh_keygen_hashes_is_read(tmp_path: Path) -> None:
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(f"[server.example.org]:2222 ssh-ed25519 {KEY64}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known_hosts], check=True, capture_output=True)
    text = known_hosts.read_text()
    assert "server" not in text
    assert read_known_hosts(text, "server.example.org", 2222).accepts(KEY)
    assert not read_known_hosts(text, "server.example.org", 22).accepts(KEY)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("server ssh-ed25519 \u00e9\u00e9\u00e9\u00e9", id="letters that base64 has not"),
        pytest.param("server ssh-ed25519 AAAA", id="too short for a type"),
        pytest.param(f"server ssh-rsa {KEY64}", id="a key of another type"),
        pytest.param(
            f"server ssh-ed25519 {base64.b64encode(bytes([0, 0, 0, 1, 255])).decode()}", id="a type that is no text"
        ),
    ],
)
def test_a_key_that_is_none_of_its_line_is_named_and_not_handed_on(line: str) -> None:
    with pytest.raises(KnownHostsError, match="line 1"):
        read_known_hosts(line, "server", 22)


def test_a_hash_with_letters_that_base64_has_not_is_for_nobody() -> None:
    assert not read_known_hosts(f"|1|\u00e9|\u00e9 ssh-ed25519 {KEY64}\n", "server", 22).accepts(KEY)


def blob(kind: bytes, key: bytes = b"k") -> bytes:
    return len(kind).to_bytes(4, "big") + kind + key


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        pytest.param(blob(b"ssh-ed25519"), "ssh-ed25519", id="a type"),
        pytest.param(blob(b"x" * 200), "x" * known_hosts._TYPE_CHARACTERS, id="a long one is cut"),
        pytest.param(blob(b""), "of an unknown type,", id="an empty one"),
        pytest.param(blob("\N{SNOWMAN}".encode()), "of an unknown type,", id="one that is not ASCII"),
        pytest.param(blob(b"a\x1b[31m"), "of an unknown type,", id="one that a terminal would obey"),
        pytest.param(b"\x00\x00", "of an unknown type,", id="none"),
    ],
)
def test_a_key_is_shown_by_its_type_and_fingerprint_whatever_a_server_sends(key: bytes, kind: str) -> None:
    fingerprint = base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
    assert shown_key(key) == f"{kind} SHA256:{fingerprint}"


@pytest.mark.parametrize("more", [-1, 0, 1, 5])
def test_a_key_that_is_not_known_is_told_beside_some_of_those_that_are(more: int) -> None:
    most = known_hosts._MOST_SHOWN
    known = sorted(blob(b"ssh-ed25519", bytes([number])) for number in range(most + more))
    text = "".join(f"server ssh-ed25519 {base64.b64encode(key).decode()}\n" for key in known)
    told = read_known_hosts(text, "server", 22).refusal(KEY)
    shown = ", ".join(map(shown_key, known[:most]))
    rest = f" and {more} more" if more > 0 else ""
    assert told == f"the server's host key is {shown_key(KEY)}, and known_hosts has {shown}{rest}"


def test_where_only_authorities_are_known_a_plain_key_is_told_to_be_none() -> None:
    keys = read_known_hosts(f"@cert-authority * ssh-ed25519 {OTHER64}\n", "server", 22)
    assert keys.refusal(KEY) == f"the server's host key is {shown_key(KEY)}, and known_hosts has only authorities"


def test_where_no_authority_is_known_a_certificate_is_told_as_a_key_that_is_not_known() -> None:
    certificate = blob(b"ssh-ed25519-cert-v01@openssh.com")
    told = read_known_hosts(f"server ssh-ed25519 {KEY64}\n", "server", 22).refusal(certificate)
    assert told == f"the server's host key is {shown_key(certificate)}, and known_hosts has {shown_key(KEY)}"
