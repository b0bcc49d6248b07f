#  This file is part of ssh2-python.
#
#  This library is free software; you can redistribute it and/or
#  modify it under the terms of the GNU Lesser General Public
#  License as published by the Free Software Foundation, version 2.1.
#
#  This library is distributed in the hope that it will be useful,
#  but WITHOUT ANY WARRANTY; without even the implied warranty of
#  MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
#  Lesser General Public License for more details.
#
#  You should have received a copy of the GNU Lesser General Public
#  License along with this library; if not, write to the Free Software
#  Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA  02110-1301  USA

"""What a program that waits by itself needs besides: calls of libssh2 that the package lacks, or gets wrong.

- ``Channel.get_exit_status`` returns 0 where the server told none, and ``get_exit_signal`` returns no signal.
- A file can be closed only once, and closing cannot be repeated after EAGAIN. An SFTP subsystem is ended when its
  object is destroyed, without waiting for the server.
- A channel's window and packet size cannot be chosen.
- Reading the text of an error leaks one kilobyte.
- What the server says when it ends the connection is told nowhere.
- libssh2 stops waiting for a reply after 60 s, whatever the time limits of the program are.
- A signature cannot come from elsewhere than from a key or libssh2's own agent client, which blocks.
- A callback for prompts can neither fail nor refuse to answer, and what a server says of a login is out of reach.
- An idle session answers nothing, and a session of many channels cannot be kept from receiving.
"""

from libc.errno cimport EAGAIN
from libc.limits cimport INT_MAX
from libc.stdlib cimport calloc, malloc
from libc.string cimport memcpy

from .c_patched cimport (
    libssh2_channel_exit_status_told,
    libssh2_session_disconnect_text,
    libssh2_session_serve,
    libssh2_userauth_banners,
    libssh2_userauth_keyboard_interactive_stop,
    libssh2_userauth_last_failure,
)
from .channel cimport Channel, PyChannel
from .session cimport Session
from .sftp cimport SFTP
from .sftp_handle cimport SFTPHandle
from .utils cimport handle_error_codes
from . cimport c_sftp
from . cimport c_ssh2
from . cimport error_codes

cdef extern from "libssh2.h" nogil:
    enum:
        LIBSSH2_CALLBACK_RECV
    void libssh2_session_set_read_timeout(c_ssh2.LIBSSH2_SESSION *session, long timeout)

cdef extern from "libssh2.h":
    ctypedef int (*Sign)(c_ssh2.LIBSSH2_SESSION *session, unsigned char **sig, size_t *sig_len,
                         const unsigned char *data, size_t data_len, void **abstract)
    int libssh2_userauth_publickey(c_ssh2.LIBSSH2_SESSION *session, const char *user, const unsigned char *key,
                                   size_t key_len, Sign sign, void **abstract)


    ctypedef void (*Respond)(const char *name, int name_len, const char *instruction, int instruction_len,
                             int num_prompts, const c_ssh2.LIBSSH2_USERAUTH_KBDINT_PROMPT *prompts,
                             c_ssh2.LIBSSH2_USERAUTH_KBDINT_RESPONSE *responses, void **abstract) noexcept
    int libssh2_userauth_keyboard_interactive_ex(c_ssh2.LIBSSH2_SESSION *session, const char *user,
                                                 unsigned int user_len, Respond respond)
    int libssh2_userauth_banner(c_ssh2.LIBSSH2_SESSION *session, char **banner)


def wait_without_limit(Session session not None):
    """Let libssh2 wait for a reply as long as the caller does."""
    libssh2_session_set_read_timeout(session._session, INT_MAX)


def last_error_text(Session session not None):
    """Return libssh2's text for the session's last error."""
    cdef char *text = NULL
    cdef int size = 0
    c_ssh2.libssh2_session_last_error(session._session, &text, &size, 0)
    return '' if text is NULL else text[:size].decode('utf-8', 'replace')


def disconnect_text(Session session not None):
    """Return the beginning of what the server said when it ended the connection, empty if it said nothing."""
    cdef const char *text = NULL
    cdef size_t size = libssh2_session_disconnect_text(session._session, &text)
    return text[:size].decode('utf-8', 'replace')


def serve(Session session not None, bint ask):
    """Take up to 64 packets of a session that nothing else uses, and first send a keep-alive request if `ask` is set.

    :returns: ``LIBSSH2_ERROR_EAGAIN`` where the session has to wait, or 1 where there may be more to take; and how many
      replies to such requests have come.
    """
    cdef int replies = 0
    cdef int rc
    with nogil:
        rc = libssh2_session_serve(session._session, ask, &replies)
    return handle_error_codes(rc), replies


def open_channel(Session session not None, bytes kind not None, unsigned int window, unsigned int packet,
                 bytes message not None):
    """Open a channel (RFC 4254 section 5.1).

    :returns: The channel, or ``LIBSSH2_ERROR_EAGAIN``.
    """
    cdef const char *name = kind
    cdef const char *rest = message
    cdef unsigned int name_len = len(kind)
    cdef unsigned int rest_len = len(message)
    cdef c_ssh2.LIBSSH2_CHANNEL *channel
    with nogil:
        channel = c_ssh2.libssh2_channel_open_ex(session._session, name, name_len, window, packet, rest, rest_len)
    if channel is NULL:
        return handle_error_codes(c_ssh2.libssh2_session_last_errno(session._session))
    return PyChannel(channel, session)


def command_end(Channel channel not None):
    """Return the exit status of a channel's command, and the name of the signal that ended it.

    The status is a uint32 (RFC 4254 section 6.10), None where the server told none; the name is empty likewise.
    """
    cdef char *name = NULL
    cdef size_t size = 0
    status = None
    if libssh2_channel_exit_status_told(channel._channel):
        status = <unsigned int>c_ssh2.libssh2_channel_get_exit_status(channel._channel)
    handle_error_codes(
        c_ssh2.libssh2_channel_get_exit_signal(channel._channel, &name, &size, NULL, NULL, NULL, NULL))
    if name is NULL:
        return status, ''
    try:
        return status, name[:size].decode('ascii', 'replace')
    finally:
        c_ssh2.libssh2_free(channel._session._session, name)


def own_file(SFTPHandle handle not None):
    """Take over an open file from its object, which would crash if it were destroyed after the subsystem."""
    handle._closed = 1


def close_file(SFTPHandle handle not None):
    """Close and free a file from :py:func:`own_file`.

    :returns: 0 after the server's reply, or ``LIBSSH2_ERROR_EAGAIN``: then the call must be made again.
    """
    cdef int rc
    with nogil:
        rc = c_sftp.libssh2_sftp_close_handle(handle._handle)
    return handle_error_codes(rc)


def has_ended(SFTP sftp not None):
    """Return whether the server has ended a subsystem and all its data is read, or :py:func:`take_channel` took it.

    libssh2 itself would keep waiting for data.
    """
    return sftp._sftp is NULL or c_ssh2.libssh2_channel_eof(c_sftp.libssh2_sftp_get_channel(sftp._sftp)) != 0


def take_channel(SFTP sftp not None):
    """Return the channel of a subsystem, which from now on ends with this channel. No other call may use `sftp`."""
    if sftp._sftp is NULL:
        raise ValueError('the subsystem has no channel any more')
    channel = PyChannel(c_sftp.libssh2_sftp_get_channel(sftp._sftp), sftp._session)
    sftp._sftp = NULL
    return channel


cdef ssize_t nothing_there(int sock, void *buffer, size_t size, int flags, void **abstract) noexcept nogil:
    """Say that an empty socket would block. libssh2's own function returns a negative errno likewise."""
    return -EAGAIN


cdef class InputGate:
    """Lets a session receive from the server only while the gate is open. It is shut at first.

    While it is shut, a call finds the packets that are queued, and after them an empty socket.
    """

    cdef Session _session
    cdef void *_receive

    def __cinit__(self, Session session not None):
        self._session = session
        self._receive = self._exchange(<void *>nothing_there)

    cdef void *_exchange(self, void *receive) noexcept:
        return c_ssh2.libssh2_session_callback_set(self._session._session, LIBSSH2_CALLBACK_RECV, receive)

    def open(self):
        """Let every call receive."""
        self._exchange(self._receive)

    def shut(self):
        """Let no call receive."""
        self._exchange(<void *>nothing_there)

    def receive_all(self, opened):
        """Queue everything that the server has sent.

        libssh2 is asked for the end of each :py:class:`Channel` and :py:class:`SFTP` in `opened`, up to the first that
        has not ended; return whether there is such a one.
        """
        self.open()
        try:
            for one in opened:
                if await_end(one) == error_codes._LIBSSH2_ERROR_EAGAIN:
                    return True
            return False
        finally:
            self.shut()


cdef int await_end(opened) except? -1:
    """Return EAGAIN once nothing is left to receive, or 0 if the channel has ended before that."""
    cdef c_ssh2.LIBSSH2_CHANNEL *channel
    cdef int rc
    if isinstance(opened, SFTP):
        if (<SFTP>opened)._sftp is NULL:
            return 0
        channel = c_sftp.libssh2_sftp_get_channel((<SFTP>opened)._sftp)
    else:
        channel = (<Channel?>opened)._channel
    if channel is NULL:
        return 0
    with nogil:
        rc = c_ssh2.libssh2_channel_wait_eof(channel)
        if rc == 0:
            rc = c_ssh2.libssh2_channel_wait_closed(channel)
    return handle_error_codes(rc)


def said_of_login(Session session not None):
    """Return what the server has said of a login: its texts, up to 1 KiB; how many there were; its last refusal.

    The refusal is the beginning of an SSH_MSG_USERAUTH_FAILURE (RFC 4252 section 5.1), empty without one.
    """
    cdef char *banner = NULL
    cdef size_t size = 0
    cdef const unsigned char *failure = libssh2_userauth_last_failure(session._session, &size)
    cdef bytes text = b''
    if libssh2_userauth_banner(session._session, &banner) == 0 and banner is not NULL:
        text = banner
    return text, libssh2_userauth_banners(session._session), b'' if failure is NULL else <bytes>failure[:size]


cdef class InteractiveLogin:
    """A login by keyboard-interactive (RFC 4256).

    `answer` is called with each request's instruction and its prompts, in bytes. It returns an answer, in bytes, for
    each prompt, or None, which ends the login without an answer. It must neither wait nor use the session.
    """

    cdef Session _session
    cdef bytes _user
    cdef object _answer
    cdef object _error

    def __cinit__(self, Session session not None, bytes user not None, answer not None):
        self._session = session
        self._user = user
        self._answer = answer
        self._error = None

    def attempt(self):
        """Go on up to the server's verdict; raises what `answer` raised.

        :returns: 0, or ``LIBSSH2_ERROR_EAGAIN`` where the session has to wait.
        """
        cdef int rc
        cdef void **mine = c_ssh2.libssh2_session_abstract(self._session._session)
        cdef void *before = mine[0]
        mine[0] = <void *>self
        try:
            rc = libssh2_userauth_keyboard_interactive_ex(
                self._session._session, self._user, len(self._user), give_answers)
        finally:
            mine[0] = before
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return handle_error_codes(rc)


cdef void give_answers(const char *name, int name_len, const char *instruction, int instruction_len, int num_prompts,
                       const c_ssh2.LIBSSH2_USERAUTH_KBDINT_PROMPT *prompts,
                       c_ssh2.LIBSSH2_USERAUTH_KBDINT_RESPONSE *responses, void **abstract) noexcept:
    """Pass on copies of the answers, which libssh2 frees by libc's free."""
    cdef InteractiveLogin login = <InteractiveLogin>abstract[0]
    cdef bytes answer
    cdef int i
    try:
        answers = login._answer(
            b'' if instruction is NULL else <bytes>instruction[:instruction_len],
            [b'' if prompts[i].text is NULL else <bytes>(<char *>prompts[i].text)[:prompts[i].length]
             for i in range(num_prompts)])
        if answers is not None:
            for i in range(num_prompts):
                answer = answers[i]
                responses[i].text = <char *>calloc(1, len(answer) + 1)
                if responses[i].text is NULL:
                    raise MemoryError
                memcpy(responses[i].text, <char *>answer, len(answer))
                responses[i].length = len(answer)
            return
    except BaseException as error:
        login._error = error
    libssh2_userauth_keyboard_interactive_stop(login._session._session)


cdef class SignedLogin:
    """A login by a key whose signature somebody else makes (RFC 4252 section 7).

    `to_sign` is empty until the server has said that it takes the key; then `signature` is to be set to that of it,
    without the name of its algorithm.
    """

    cdef Session _session
    cdef bytes _user
    cdef bytes _key
    cdef readonly bytes to_sign
    cdef public bytes signature

    def __cinit__(self, Session session not None, bytes user not None, bytes key not None):
        self._session = session
        self._user = user
        self._key = key
        self.to_sign = b''
        self.signature = b''

    def attempt(self):
        """Go on up to the server's reply, or until there is something to sign.

        :returns: 0, or ``LIBSSH2_ERROR_EAGAIN`` where the session has to wait.
        """
        cdef void *me = <void *>self
        cdef int rc = libssh2_userauth_publickey(
            self._session._session, self._user, self._key, len(self._key), give_signature, &me)
        if rc == error_codes._LIBSSH2_ERROR_EAGAIN and self.to_sign and not self.signature:
            return 0
        return handle_error_codes(rc)


cdef int give_signature(c_ssh2.LIBSSH2_SESSION *session, unsigned char **sig, size_t *sig_len,
                        const unsigned char *data, size_t data_len, void **abstract) noexcept:
    """Pass on a copy of the signature, which libssh2 frees by libc's free, or keep the data to sign."""
    cdef SignedLogin login = <SignedLogin>abstract[0]
    cdef const unsigned char *signature
    if not login.signature:
        login.to_sign = data[:data_len]
        return error_codes._LIBSSH2_ERROR_EAGAIN
    signature = login.signature
    sig_len[0] = len(login.signature)
    sig[0] = <unsigned char *>malloc(sig_len[0])
    if sig[0] is NULL:
        return error_codes._LIBSSH2_ERROR_ALLOC
    memcpy(sig[0], signature, sig_len[0])
    return 0
