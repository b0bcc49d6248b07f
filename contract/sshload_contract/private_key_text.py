r"""The text of a private key's file, written anew as the programs that make keys write it (RFC 7468).

Secrets, variables of a CI system and editors change such texts: line breaks become blanks or `\n`, lines end as on
Windows, a byte order mark or quotes are added. Exports have "Bag Attributes" or a curve's parameters in front of the
key. Nothing of the key is lost by that, although most libraries no longer read it.
"""

import binascii
import codecs
from base64 import b64decode
from string import ascii_letters, digits

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"
_OF_A_KEY = b"PRIVATE KEY"
_OTHER_KINDS = (b"PUBLIC KEY", b"CERTIFICATE")
_LABEL_LIMIT_BYTES = 64
_LINE_BYTES = 64
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ADDED = b"\"'`\\"
_BASE64 = (ascii_letters + digits + "+/").encode()


class DamagedKeyError(ValueError):
    """A text has no whole private key. The message continues "the private key", and has nothing of the text."""


def private_key_text(data: bytes) -> bytes:
    """Return the first private key in `data` with the lines that its format has; raises DamagedKeyError."""
    text = _plain(data)
    labels = []
    for piece in text.split(_BEGIN)[1:]:
        label, dashes, rest = piece.partition(_DASHES)
        labels.append(label)
        if dashes and label.endswith(_OF_A_KEY) and len(label) <= _LABEL_LIMIT_BYTES:
            return _written(label, rest)
    raise DamagedKeyError(_without_a_key(text, labels))


def _plain(data: bytes) -> bytes:
    r"""Return the text in UTF-8, with line breaks in place of `\n`, and without quotes."""
    if data.startswith(_UTF16_MARKS):
        data = data.decode("utf-16", "replace").encode()
    for written in (rb"\r", rb"\n"):
        data = data.replace(written, b"\n")
    return data.translate(None, _ADDED)


def _written(label: bytes, rest: bytes) -> bytes:
    content, end, _ = rest.partition(_END)
    if not end:
        raise DamagedKeyError("is damaged: its last line, which begins with -----END, is missing")
    words = content.split()
    headers = []
    at = 0
    while at < len(words) and words[at].endswith(b":"):  # RFC 1421: how an older PEM key is encrypted
        headers.append(b" ".join(words[at : at + 2]))
        at += 2
    encoded = b"".join(words[at:])
    _check(encoded)
    lines = [encoded[at : at + _LINE_BYTES] for at in range(0, len(encoded), _LINE_BYTES)]
    head = [*headers, b""] if headers else []
    return b"\n".join([_BEGIN + label + _DASHES, *head, *lines, _END + label + _DASHES, b""])


def _check(encoded: bytes) -> None:
    if not encoded:
        raise DamagedKeyError("is damaged: there is nothing between its first and its last line")
    if encoded.rstrip(b"=").translate(None, _BASE64):
        raise DamagedKeyError("is damaged: between its first and its last line there is other text than base64")
    try:
        b64decode(encoded, validate=True)
    except binascii.Error:
        raise DamagedKeyError("is damaged: a part of its base64 text is missing") from None


def _without_a_key(text: bytes, labels: list[bytes]) -> str:
    """Return what is wrong with a text that has no private key."""
    try:
        is_wrapped = _BEGIN in b64decode(b"".join(text.split()), validate=True)
    except binascii.Error:
        is_wrapped = False
    if is_wrapped:
        return "is encoded by base64 once more: decode it once"
    if any(_OF_A_KEY in label for label in labels) or b"PRIVATEKEY" in text.replace(b" ", b""):
        return "is damaged: its first line must be like -----BEGIN OPENSSH PRIVATE KEY-----"
    other = next((kind for kind in _OTHER_KINDS if any(label.endswith(kind) for label in labels)), None)
    if other is not None:
        return f"holds a {other.decode().lower()}: the private key is needed"
    return "is not a private key in OpenSSH's, PEM or PKCS #8 format"
