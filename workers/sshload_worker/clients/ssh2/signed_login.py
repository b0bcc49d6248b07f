"""Login by public key, signed elsewhere: libssh2 asks for the signature and is told to wait until it is there."""

import ctypes
from typing import Any

from ssh2.error_codes import LIBSSH2_ERROR_EAGAIN
from ssh2.session import Session
from ssh2.utils import handle_error_codes

from sshload_worker.clients.ssh2.direct_calls import LIBSSH2, pointer
from sshload_worker.login.wire import WireReader

_DONE = 0
_Sign = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,  # the session
    ctypes.POINTER(ctypes.c_void_p),  # where the signature goes
    ctypes.POINTER(ctypes.c_size_t),  # and its length
    ctypes.c_void_p,  # what is to be signed
    ctypes.c_size_t,
    ctypes.c_void_p,
)
_userauth_publickey = LIBSSH2.libssh2_userauth_publickey
_userauth_publickey.restype = ctypes.c_int
_userauth_publickey.argtypes = [
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_size_t,
    _Sign,
    ctypes.POINTER(ctypes.c_void_p),
]
_malloc = ctypes.CDLL(None).malloc  # libssh2 frees a signature by libc's free
_malloc.restype = ctypes.c_void_p
_malloc.argtypes = [ctypes.c_size_t]


class Signature:
    """What is to be signed, empty until the server has said that it would take the key, and its signature."""

    def __init__(self) -> None:
        self.to_sign = b""
        self.signature = b""

    @property
    def algorithm(self) -> bytes:
        """The algorithm by which `to_sign` is to be signed (RFC 4252 section 7)."""
        signed = WireReader(self.to_sign)
        signed.string()  # the session's identifier
        signed.fixed(1)  # the message's number
        for _ in range(3):  # user, service, method
            signed.string()
        signed.fixed(1)
        return signed.string()

    def give(self, _session: int, signature: Any, length: Any, data: int, data_bytes: int, _more: int) -> int:
        """Do as libssh2's sign callback: give a copy of the signature, or note what is to be signed."""
        if not self.signature:
            self.to_sign = ctypes.string_at(data, data_bytes)
            return int(LIBSSH2_ERROR_EAGAIN)
        copy = _malloc(len(self.signature))
        ctypes.memmove(copy, self.signature, len(self.signature))
        signature[0], length[0] = copy, len(self.signature)
        return _DONE


class SignedLogin:
    """One login at a session."""

    def __init__(self, session: Session, user: str, key: bytes) -> None:
        self.signature = Signature()
        self._session = session
        self._user = user.encode()
        self._key = key
        self._callback = _Sign(self.signature.give)

    def attempt(self) -> Any:
        """Go on to the server's word: return 0, or EAGAIN; and 0 too where there is something to be signed first."""
        result = _userauth_publickey(
            pointer(self._session), self._user, self._key, len(self._key), self._callback, None
        )
        if result == LIBSSH2_ERROR_EAGAIN and self.signature.to_sign and not self.signature.signature:
            return _DONE
        return handle_error_codes(result)
