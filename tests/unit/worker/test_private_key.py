import codecs
import json
import re
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, x25519
from ssh_server import write_key
from sshload_worker.login import private_key
from sshload_worker.login.private_key import PrivateKey, read_private_key
from sshload_worker.login.wire import WireReader
from sshload_worker.outcomes import GeneratorFaultError

pytestmark = pytest.mark.xdist_group("generated keys")  # made once per process
ROLE = "the target's private key (id)"
PASSPHRASE = "correct horse"
MOST_CPU_S = 1.0  # of what refuses at once, and reads 16,384 rounds of scrypt
KINDS = [
    pytest.param(("ed25519",), "RFC4716", id="ed25519"),
    pytest.param(("ecdsa", "-b", "256"), "RFC4716", id="ecdsa 256"),
    pytest.param(("ecdsa", "-b", "384"), "RFC4716", id="ecdsa 384"),
    pytest.param(("ecdsa", "-b", "521"), "RFC4716", id="ecdsa 521"),
    pytest.param(("rsa",), "RFC4716", id="rsa"),
    pytest.param(("ecdsa",), "PEM", id="ecdsa in PEM"),
    pytest.param(("rsa",), "PEM", id="rsa in PEM"),
    pytest.param(("ecdsa",), "PKCS8", id="ecdsa in PKCS #8"),
    pytest.param(("rsa",), "PKCS8", id="rsa in PKCS #8"),
]


def make_key(folder: Path, kind: Sequence[str] = ("ed25519",), form: str = "RFC4716", passphrase: str = "") -> Path:
    """Make a key and let ssh-keygen write it in a format: RFC4716 is its name for OpenSSH's own."""
    path = write_key(folder / "id", *kind)
    subprocess.run(["ssh-keygen", "-q", "-p", "-m", form, "-P", "", "-N", passphrase, "-f", path], check=True)
    return path


@cache
def made_key(kind: Sequence[str], form: str, passphrase: str) -> tuple[bytes, str]:
    """Return a key's text and its public half: one for all tests, because some kinds take long to make."""
    with TemporaryDirectory() as folder:
        path = make_key(Path(folder), kind, form, passphrase)
        return path.read_bytes(), " ".join(path.with_suffix(".pub").read_text().split()[:2])


def public_line(folder: Path, key: PrivateKey) -> str:
    """Return what ssh-keygen says that the public half of a key is."""
    path = folder / "read"
    path.write_bytes(key.openssh)
    path.chmod(0o600)
    done = subprocess.run(["ssh-keygen", "-y", "-P", "", "-f", path], check=True, capture_output=True, text=True)
    return " ".join(done.stdout.split()[:2])


def refusal(data: bytes, passphrase: str = "") -> str:
    with pytest.raises(GeneratorFaultError) as raised:
        read_private_key(data, passphrase, ROLE)
    message = str(raised.value)
    assert message.startswith(ROLE)
    assert passphrase not in message or not passphrase
    return message


@pytest.mark.slow
@pytest.mark.parametrize("passphrase", [pytest.param("", id="plain"), pytest.param(PASSPHRASE, id="encrypted")])
@pytest.mark.parametrize(("kind", "form"), KINDS)
def test_every_key_of_ssh_keygen_comes_out_plain_and_the_same(
    tmp_path: Path, kind: Sequence[str], form: str, passphrase: str
) -> None:
    text, public = made_key(kind, form, passphrase)
    key = read_private_key(text, passphrase, ROLE)
    assert key.openssh.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    assert public_line(tmp_path, key) == public


def test_an_ed25519_key_in_pkcs8_is_read(tmp_path: Path) -> None:
    made = ed25519.Ed25519PrivateKey.generate()
    pem = made.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = made.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    assert public_line(tmp_path, read_private_key(pem, "", ROLE)) == public.decode()


def test_what_is_private_of_a_key_from_a_seed_is_padded_as_openssh_pads_it() -> None:
    """By 1, 2, 3 and so on, to a multiple of eight bytes (PROTOCOL.key section 3)."""
    text = private_key.ed25519_key(bytes(32)).openssh
    packed = b64decode(b"".join(text.splitlines()[1:-1]))
    whole = WireReader(packed.removeprefix(b"openssh-key-v1\0"))
    for read in (whole.string, whole.string, whole.string, whole.uint32, whole.string):
        read()
    private = whole.string()
    assert len(private) % 8 == 0
    assert private.endswith(bytes([1, 2, 3, 4, 5]))
    assert len(private) - 5 == 8 + len(b"....ssh-ed25519") + 4 + 32 + 4 + 64 + 4


def test_line_ends_of_windows_and_space_around_are_harmless(tmp_path: Path) -> None:
    data = make_key(tmp_path).read_bytes()
    key = read_private_key(b"\n  " + data.replace(b"\n", b"\r\n") + b"\n\n", "", ROLE)
    assert key.public_blob == read_private_key(data, "", ROLE).public_blob


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "blanks for line breaks": lambda text: b" ".join(text.split(b"\n")),
    "line breaks written as backslash n": lambda text: text.replace(b"\n", rb"\n"),
    "Windows line breaks written so": lambda text: text.replace(b"\n", rb"\r\n"),
    "line ends of old Macs": lambda text: text.replace(b"\n", b"\r"),
    "one long line of base64": lambda text: re.sub(rb"(?<=[A-Za-z0-9+/]{64})\n(?!-)", b"", text),
    "a blank before each line": lambda text: b"".join(b"  " + line for line in text.splitlines(keepends=True)),
    "a tab after each line": lambda text: text.replace(b"\n", b"\t\n"),
    "an empty line after each line": lambda text: text.replace(b"\n", b"\n\n"),
    "quotes around": lambda text: b'"' + text + b'"',
    "quotes of JSON": lambda text: json.dumps(text.decode()).encode(),
    "quotes of a shell": lambda text: b"'" + text.rstrip() + b"'\n",
    "a byte order mark": lambda text: codecs.BOM_UTF8 + text,
    "UTF-16 of Windows": lambda text: text.decode().encode("utf-16"),
    "no line break at the end": bytes.rstrip,
    "text of openssl pkcs12 before it": lambda text: (
        b"Bag Attributes\n    localKeyID: 01\nKey Attributes: <x>\n" + text
    ),
    "parameters of a curve before it": lambda text: (
        b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + text
    ),
    "a certificate after it": lambda text: text + b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("kind", "form"), [KINDS[0], KINDS[6], KINDS[7]])
def test_a_key_whose_text_was_changed_on_its_way_is_read(
    tmp_path: Path, kind: Sequence[str], form: str, change: str
) -> None:
    text, public = made_key(kind, form, "")
    key = read_private_key(CHANGES[change](text), "", ROLE)
    assert public_line(tmp_path, key) == public


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("kind", "form"), [KINDS[0], KINDS[6], KINDS[8]])
def test_an_encrypted_key_whose_text_was_changed_on_its_way_is_read(
    tmp_path: Path, kind: Sequence[str], form: str, change: str
) -> None:
    text, public = made_key(kind, form, PASSPHRASE)
    key = read_private_key(CHANGES[change](text), PASSPHRASE, ROLE)
    assert public_line(tmp_path, key) == public


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(
            lambda text: text[: text.index(b"-----END")],
            "is damaged: its last line, which begins with -----END, is missing",
            id="without its last line",
        ),
        pytest.param(
            lambda text: text[:200] + text[text.index(b"\n-----END") - 5 :],
            "is damaged: a part of its base64 text is missing",
            id="with a part left out",
        ),
        pytest.param(lambda text: text.replace(b"a", b"*"), "there is other text than base64", id="with other text"),
        pytest.param(b64encode, "is encoded by base64 once more: decode it once", id="encoded twice"),
        pytest.param(
            lambda text: text.replace(b"BEGIN OPENSSH", b"BEGINOPENSSH"), "its first line must be like", id="first line"
        ),
    ],
)
def test_a_key_of_which_a_part_is_lost_is_told_as_damaged(
    tmp_path: Path, change: Callable[[bytes], bytes], said: str
) -> None:
    assert said in refusal(change(make_key(tmp_path).read_bytes()))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "form"), [KINDS[0], KINDS[6], KINDS[8]])
def test_an_encrypted_key_needs_its_passphrase(kind: Sequence[str], form: str) -> None:
    data, _ = made_key(kind, form, PASSPHRASE)
    assert "is encrypted: its passphrase is needed" in refusal(data)
    assert "cannot be decrypted" in refusal(data, "wrong horse")


def test_a_passphrase_that_is_not_needed_does_no_harm(tmp_path: Path) -> None:
    data = make_key(tmp_path).read_bytes()
    assert read_private_key(data, PASSPHRASE, ROLE) == read_private_key(data, "", ROLE)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(b"", "is empty", id="nothing"),
        pytest.param(b" \n", "is empty", id="space"),
        pytest.param(b"hello", "is not a private key", id="another text"),
        pytest.param(b"\x00\xff" * 50, "is not a private key", id="bytes"),
        pytest.param(b"ssh-ed25519 AAAA me", "holds a public key", id="a public key"),
        pytest.param(b"PuTTY-User-Key-File-3: ssh-ed25519\n", "puttygen", id="PuTTY's format"),
        pytest.param(b"-----BEGIN OPENSSH PRIVATE KEY-----\n", "is damaged", id="only the first line"),
        pytest.param(
            b"-----BEGIN OPENSSH PRIVATE KEY-----\n!\n-----END OPENSSH PRIVATE KEY-----", "is damaged", id="no base64"
        ),
        pytest.param(b"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----", "is damaged", id="PEM"),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "holds a certificate", id="X.509"
        ),
        pytest.param(b"-----BEGINOPENSSHPRIVATEKEY-----", "its first line must be like", id="without any blank"),
    ],
)
def test_what_is_no_private_key_is_told(data: bytes, said: str) -> None:
    assert said in refusal(data)


def test_a_key_that_is_cut_off_anywhere_is_told(tmp_path: Path) -> None:
    data = make_key(tmp_path).read_bytes()
    for length in range(0, data.index(b"-----END ") + 8, 7):
        refusal(data[:length])


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(x25519.X25519PrivateKey.generate(), id="a key for another purpose"),
        pytest.param(ec.generate_private_key(ec.SECP256K1()), id="another curve"),
    ],
)
def test_a_key_of_a_type_that_ssh_does_not_know_is_told(
    made: x25519.X25519PrivateKey | ec.EllipticCurvePrivateKey,
) -> None:
    pem = made.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    assert "type" in refusal(pem)


@pytest.mark.filterwarnings("ignore:SSH DSA key support is deprecated")
def test_a_dsa_key_in_pkcs8_is_told_as_one_that_cannot_be_used() -> None:
    pem = dsa.generate_private_key(1_024).private_bytes(  # noqa: S505 - nobody uses it
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    assert "is of the type 'ssh-dss', which cannot be used" in refusal(pem)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            b"sk-ssh-ed25519@openssh.com",
            "is of a security key (sk-ssh-ed25519@openssh.com), which somebody has to touch",
        ),
        (b"sk-ecdsa-sha2-nistp256@openssh.com", "is of a security key (sk-ecdsa-sha2-nistp256@openssh.com)"),
        (b"ssh-mldsa44-ed25519@openssh.com", "is of the type 'ssh-mldsa44-ed25519@openssh.com', which cannot be used"),
        (b"ssh-dss", "is of the type 'ssh-dss', which cannot be used"),
    ],
)
def test_a_key_in_hardware_or_of_a_kind_that_no_library_has_is_told_with_those_that_serve(
    name: bytes, told: str
) -> None:
    blob = len(name).to_bytes(4, "big") + name
    body = b"openssh-key-v1\0" + b"\0\0\0\4none" * 2 + b"\0\0\0\0" + b"\0\0\0\1" + len(blob).to_bytes(4, "big") + blob
    text = b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + b64encode(body) + b"\n-----END OPENSSH PRIVATE KEY-----\n"
    assert told in refusal(text)
    assert "use one of ssh-ed25519, ecdsa-sha2-nistp256" in refusal(text)


def test_a_key_whose_private_part_ends_early_is_damaged(tmp_path: Path) -> None:
    lines = make_key(tmp_path, ["ed25519", "-C", ""]).read_bytes().split(b"\n")
    packed = b64decode(b"".join(lines[1:-2]))
    public_blob = packed[packed.index(b"ssh-ed25519") - 4 :][:51]
    private = b"c" * 8 + public_blob[:15] + b"\0\0\0\x20short"
    head = packed[: packed.index(public_blob) + len(public_blob)]
    cut = b64encode(head + len(private).to_bytes(4, "big") + private)
    assert "is damaged" in refusal(lines[0] + b"\n" + cut + b"\n" + lines[-2])


@pytest.mark.parametrize("rounds", [501, 2**32 - 1])
def test_a_key_whose_decryption_would_take_long_is_refused_at_once(tmp_path: Path, rounds: int) -> None:
    key = make_key(tmp_path, passphrase=PASSPHRASE).read_bytes()
    lines = key.split(b"\n")
    packed = b64decode(b"".join(lines[1:-2]))
    at = packed.index(b"bcrypt") + len(b"bcrypt") + 4 + 4 + 16  # the options: a salt of 16 bytes, and the rounds
    changed = packed[:at] + rounds.to_bytes(4, "big") + packed[at + 4 :]
    begin_s = thread_time()
    with pytest.raises(GeneratorFaultError, match="rounds of bcrypt"):
        read_private_key(b"\n".join([lines[0], b64encode(changed), lines[-2]]), PASSPHRASE, ROLE)
    assert thread_time() - begin_s < MOST_CPU_S


def openssh(packed: bytes) -> bytes:
    """Return the text of a key in OpenSSH's format that has this data."""
    return b"-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n-----END OPENSSH PRIVATE KEY-----\n" % b64encode(packed)


def packed_of(text: bytes) -> bytes:
    return b64decode(b"".join(text.split(b"\n")[1:-2]))


def test_as_many_rounds_of_bcrypt_are_done_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = made_key(("ed25519",), "RFC4716", PASSPHRASE)
    packed = packed_of(text)
    at = packed.index(b"bcrypt") + len(b"bcrypt") + 4 + 4 + 16  # the options: a salt of 16 bytes, and the rounds
    rounds = int.from_bytes(packed[at : at + 4], "big")
    monkeypatch.setattr(private_key, "_MOST_ROUNDS", rounds)
    read_private_key(text, PASSPHRASE, ROLE)
    monkeypatch.setattr(private_key, "_MOST_ROUNDS", rounds - 1)
    assert f"takes {rounds} rounds of bcrypt to decrypt, and at most {rounds - 1} are done" in refusal(text, PASSPHRASE)


def test_rounds_of_what_is_not_bcrypt_are_not_told() -> None:
    text, _ = made_key(("ed25519",), "RFC4716", PASSPHRASE)
    packed = packed_of(text).replace(b"bcrypt", b"zcrypt")
    at = packed.index(b"zcrypt") + len(b"zcrypt") + 4 + 4 + 16
    changed = packed[:at] + (2**32 - 1).to_bytes(4, "big") + packed[at + 4 :]
    assert "is of a type, or encrypted in a way, that cannot be used" in refusal(openssh(changed), PASSPHRASE)


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(lambda packed: packed.rindex(b"ssh-ed25519") - 5, id="its two numbers differ"),
        pytest.param(lambda packed: packed.rindex(b"ssh-ed25519"), id="it is of another type"),
    ],
)
def test_a_private_part_that_does_not_match_its_public_part_is_damaged(at: Callable[[bytearray], int]) -> None:
    text, _ = made_key(("ed25519",), "RFC4716", "")
    packed = bytearray(packed_of(text))
    packed[at(packed)] ^= 1
    assert "is damaged: its private part does not match its public part" in refusal(openssh(bytes(packed)))


def fields_of_public_part(packed: bytes) -> list[range]:
    """Return where each field of a key's public part is in its data, the name of its type first."""
    reader = WireReader(packed)
    reader.fixed(len(b"openssh-key-v1\0"))
    for read in (reader.string, reader.string, reader.string, reader.uint32):
        read()
    blob = reader.string()
    at = len(packed) - len(reader.rest) - len(blob)
    fields, inner = [], WireReader(blob)
    while inner.rest:
        length = len(inner.string())
        end = at + len(blob) - len(inner.rest)
        fields.append(range(end - length, end))
    return fields


@pytest.mark.parametrize(("kind", "form"), KINDS[:5])
def test_a_public_part_with_one_changed_bit_in_any_field_is_not_that_of_the_private_part(
    kind: Sequence[str], form: str
) -> None:
    """A server would be told of a key that nobody has, and would refuse it as one that may not log in."""
    text, _ = made_key(kind, form, "")
    packed = packed_of(text)
    assert read_private_key(openssh(packed), "", ROLE).openssh
    _, *fields = fields_of_public_part(packed)
    assert fields
    for field in fields:
        for at in (field[0], field[-1]):
            changed = bytearray(packed)
            changed[at] ^= 1
            assert "is damaged: its private part does not match its public part" in refusal(openssh(bytes(changed)))


def test_an_ed25519_secret_that_ends_with_another_public_key_is_damaged() -> None:
    """OpenSSH's signatures would be of that other key, and wrong."""
    text, _ = made_key(("ed25519",), "RFC4716", "")
    packed = packed_of(text)
    changed = bytearray(packed)
    public = packed[slice(fields_of_public_part(packed)[1].start, fields_of_public_part(packed)[1].stop)]
    changed[packed.rindex(public)] ^= 1
    assert "is damaged: its private part does not match its public part" in refusal(openssh(bytes(changed)))


def test_data_that_is_not_of_openssh_is_incomplete() -> None:
    text, _ = made_key(("ed25519",), "RFC4716", "")
    packed = packed_of(text)
    for changed in (packed[1:], b"openssh-key-v2" + packed[14:]):
        assert "is damaged: it is incomplete" in refusal(openssh(changed))


def test_a_header_is_no_part_of_openssh_s_format() -> None:
    text, _ = made_key(("ed25519",), "RFC4716", "")
    headed = text.replace(b"KEY-----\n", b"KEY-----\nComment: x\n\n", 1)
    message = refusal(headed)
    assert "is damaged: " in message
    assert "incomplete" not in message


def der(tag: int, *content: bytes) -> bytes:
    """Return a value in DER (X.690), of less than 64 kB."""
    body = b"".join(content)
    return bytes([tag, 0x82]) + len(body).to_bytes(2, "big") + body


def encrypted_text(algorithm: str, *numbers: int, salt: bytes = bytes(16)) -> bytes:
    """Return a key in PKCS #8 that is encrypted by PBES2 (RFC 8018) with these parameters after the salt."""
    values = [der(2, number.to_bytes(5, "big")) for number in numbers]
    derivation = der(0x30, der(6, bytes.fromhex(algorithm)), der(0x30, der(4, salt), *values))
    cipher = der(0x30, der(6, bytes.fromhex("60864801650304012a")), der(4, bytes(16)))
    scheme = der(0x30, der(6, bytes.fromhex("2a864886f70d01050d")), der(0x30, derivation, cipher))
    return pkcs8(der(0x30, scheme, der(4, bytes(48))))


def pkcs8(body: bytes) -> bytes:
    return b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n%s\n-----END ENCRYPTED PRIVATE KEY-----\n" % b64encode(body)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(encrypted_text("2a864886f70d01050c", 2_000), "passphrase is wrong", id="PBKDF2, a little"),
        pytest.param(encrypted_text("2a864886f70d01050c", 2**31 - 1), "takes too much work", id="PBKDF2"),
        pytest.param(encrypted_text("2b06010401da47040b", 16_384, 8, 1), "passphrase is wrong", id="scrypt, a little"),
        pytest.param(encrypted_text("2b06010401da47040b", 16_384, 8, 2**20), "takes too much work", id="scrypt"),
        pytest.param(
            b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n", "damaged", id="cut"
        ),
    ],
)
def test_a_key_in_pkcs8_that_takes_too_much_work_is_refused_at_once(text: bytes, told: str) -> None:
    begin_s = thread_time()
    with pytest.raises(GeneratorFaultError, match=told):
        read_private_key(text, PASSPHRASE, ROLE)
    assert thread_time() - begin_s < MOST_CPU_S


NO_ALGORITHM = "2a0304"  # whose numbers are checked, and which nobody then computes


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        pytest.param((10_000_000,), "cannot be decrypted", id="as many iterations as may be"),
        pytest.param((10_000_001,), "takes too much work", id="one iteration more"),
        pytest.param((8, 10_000_001), "takes too much work", id="too many, though another number is small"),
        pytest.param((2**13, 2**14), "cannot be decrypted", id="as much work as may be"),
        pytest.param((2**13, 2**14 + 1), "takes too much work", id="more work in two numbers, of which each may be"),
        pytest.param((1, 2**13, 2**14), "cannot be decrypted", id="one is no work"),
        pytest.param((0, 2**13, 2**14 + 1), "takes too much work", id="zero takes nothing away from the others"),
        pytest.param((), "cannot be decrypted", id="no number"),
    ],
)
def test_the_work_to_decrypt_a_key_in_pkcs8_has_a_limit_for_each_number_and_for_their_product(
    numbers: tuple[int, ...], told: str
) -> None:
    assert told in refusal(encrypted_text(NO_ALGORITHM, *numbers), PASSPHRASE)


def test_a_salt_that_looks_like_a_number_is_no_work() -> None:
    salt = bytes.fromhex("0204 7fffffff") * 2
    assert "cannot be decrypted" in refusal(encrypted_text(NO_ALGORITHM, 2_000, salt=salt), PASSPHRASE)


@pytest.mark.parametrize("size", [3, 4], ids=["of an odd length", "of an even length"])
def test_numbers_with_a_length_of_one_byte_are_work_too(size: int) -> None:
    number = b"\2" + bytes([size]) + (10_000_001).to_bytes(size, "big")
    salted = b"\x30\x02\4\0"  # a number follows it, however it is read
    assert "takes too much work" in refusal(
        pkcs8(b"\x30" + bytes([len(salted + number)]) + salted + number), PASSPHRASE
    )


@pytest.mark.parametrize("header", [b"Comment: x", b"Comment: -----ENDx"], ids=bytes.decode)
def test_headers_before_a_key_do_not_hide_how_much_work_it_takes(header: bytes) -> None:
    text = encrypted_text(NO_ALGORITHM, 10_000_001).replace(b"KEY-----\n", b"KEY-----\n" + header + b"\n\n", 1)
    assert "takes too much work" in refusal(text, PASSPHRASE)


def test_an_encrypted_key_that_ends_within_a_number_is_damaged() -> None:
    assert "the passphrase is wrong, or the file is damaged" in refusal(pkcs8(b"\x30"), PASSPHRASE)


def test_a_key_that_says_that_it_is_encrypted_and_is_not_cannot_be_decrypted() -> None:
    text, _ = made_key(("ecdsa",), "PKCS8", "")
    said = text.replace(b"KEY-----\n", b"KEY-----\nComment: ENCRYPTED\n\n", 1)
    assert "cannot be decrypted" in refusal(said, PASSPHRASE)


@pytest.mark.parametrize(
    ("modulus_bytes", "told"),
    [
        pytest.param(1_024, "is damaged", id="8,192 bits"),
        pytest.param(1_025, "more than 8,192 bits", id="8,200 bits"),
        pytest.param(2_048, "more than 8,192 bits", id="16,384 bits"),
    ],
)
def test_an_rsa_key_whose_signatures_would_occupy_the_worker_is_refused(modulus_bytes: int, told: str) -> None:
    """Its numbers are none that make a key: to find those takes minutes."""
    strings = [b"ssh-rsa", b"\1\0\1", b"\0" + b"\xff" * modulus_bytes]
    public = b"".join(len(one).to_bytes(4, "big") + one for one in strings)
    head = b"".join(len(one).to_bytes(4, "big") + one for one in (b"none", b"none", b""))
    container = b"openssh-key-v1\0" + head + (1).to_bytes(4, "big") + len(public).to_bytes(4, "big") + public
    text = b"-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n-----END OPENSSH PRIVATE KEY-----\n" % b64encode(container)
    assert told in refusal(text)


@pytest.mark.parametrize(("kind", "form"), [KINDS[4], KINDS[6], KINDS[8]])
@pytest.mark.parametrize("passphrase", [pytest.param("", id="plain"), pytest.param(PASSPHRASE, id="encrypted")])
def test_so_is_one_in_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: list[str], form: str, passphrase: str
) -> None:
    monkeypatch.setattr(private_key, "_MOST_RSA_BYTES", 256)
    assert "signatures would take" in refusal(make_key(tmp_path, kind, form, passphrase).read_bytes(), passphrase)
