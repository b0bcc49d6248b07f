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

from libc.stdlib cimport malloc, free

from .c_patched cimport libssh2_channel_exit_status_told
from .channel cimport Channel
from .clock cimport now_ns
from .utils cimport to_bytes, handle_error_codes
from . cimport c_ssh2
from . cimport error_codes

cdef enum:
    STARTING = 0
    READING = 1
    ENDING = 2
    CLOSING = 3
    AWAITING_CLOSE = 4
    CLOSED = 5
    UNANSWERED = 6
    STDERR_BYTES = 4096


cdef class Execution:
    """A command on a new channel, from its request to the channel's close, in one call that is made until it is done.

    It makes the calls of :py:class:`ssh2.channel.Channel` in their order. Instants are those of CLOCK_MONOTONIC in
    nanoseconds at which libssh2 has returned from what they end, and 0 until then.
    """

    cdef Channel _channel
    cdef bytes _command
    cdef const char *_request
    cdef size_t _size
    cdef int _stage
    cdef readonly long long started_ns
    cdef readonly long long first_byte_ns
    cdef readonly long long output_end_ns
    cdef readonly long long closed_ns
    cdef readonly bytes stderr  # what came first

    def __cinit__(self, Channel channel not None, command not None, size_t size):
        """
        :param size: The most bytes of a piece of output.
        """
        self._channel = channel
        if channel._channel is NULL:
            raise ValueError('the channel is not open')
        self._command = to_bytes(command)
        self._request = self._command
        self._size = size
        self.stderr = b''

    @property
    def unanswered(self):
        """Whether the server closed the channel in place of an answer to the request. Nothing else follows then."""
        return self._stage == UNANSWERED

    def advance(self):
        """Go on as far as that takes no waiting, but at most to the next piece of output.

        :returns: ``LIBSSH2_ERROR_EAGAIN`` where the session has to wait, the piece of stdout, which is empty where
          there was some of stderr only, or ``None`` at the end.
        """
        cdef char *output = NULL
        cdef bint is_stderr = False
        cdef ssize_t rc
        with nogil:
            rc = self._advance(&output, &is_stderr)
        try:
            if rc > 0 and is_stderr:
                self.stderr = self.stderr or output[:min(rc, STDERR_BYTES)]
                return b''
            if rc > 0:
                return output[:rc]
        finally:
            free(output)
        return handle_error_codes(rc) or None

    cdef ssize_t _advance(self, char **output, bint *is_stderr) noexcept nogil:
        """Return the size of the next piece of output, 0 at the end, or what libssh2 says."""
        cdef c_ssh2.LIBSSH2_CHANNEL *channel = self._channel._channel
        cdef ssize_t rc
        if self._stage == STARTING:
            rc = c_ssh2.libssh2_channel_exec(channel, self._request)
            if rc == error_codes._LIBSSH2_ERROR_EAGAIN and c_ssh2.libssh2_channel_eof(channel):
                # libssh2 would wait for an answer for ever
                rc = c_ssh2.libssh2_channel_wait_closed(channel)
                if rc == 0:
                    self._stage = UNANSWERED
                return rc
            if rc != 0:
                return rc
            self.started_ns = now_ns()
            self._stage = READING
        if self._stage == READING:
            rc = self._read(output, is_stderr)
            if rc != 0:
                return rc
            self.output_end_ns = now_ns()
            self._stage = ENDING
        if self._stage == ENDING:  # some servers tell nothing after our own close
            if not self._tells_end():
                rc = c_ssh2.libssh2_channel_wait_closed(channel)
                if rc != 0 and (rc != error_codes._LIBSSH2_ERROR_EAGAIN or not self._tells_end()):
                    return rc
            self._stage = CLOSING
        if self._stage == CLOSING:
            rc = c_ssh2.libssh2_channel_close(channel)
            if rc != 0:
                return rc
            self._stage = AWAITING_CLOSE
        if self._stage == AWAITING_CLOSE:
            rc = c_ssh2.libssh2_channel_wait_closed(channel)
            if rc != 0:
                return rc
            self.closed_ns = now_ns()
            self._stage = CLOSED
        return 0

    cdef ssize_t _read(self, char **output, bint *is_stderr) noexcept nogil:
        """Return the size of the next piece of output, 0 at the end of all output, or what libssh2 says.

        The queues are asked last: after EAGAIN nothing of this channel may be left in them, or the session would wait
        for what is here already.
        """
        cdef c_ssh2.LIBSSH2_CHANNEL *channel = self._channel._channel
        cdef ssize_t rc, queued
        output[0] = <char *>malloc(self._size)
        if output[0] is NULL:
            return error_codes._LIBSSH2_ERROR_ALLOC
        rc = c_ssh2.libssh2_channel_read_ex(channel, 0, output[0], self._size)
        if rc > 0:
            if self.first_byte_ns == 0:
                self.first_byte_ns = now_ns()
            return rc
        if rc < 0 and rc != error_codes._LIBSSH2_ERROR_EAGAIN:
            return rc
        queued = c_ssh2.libssh2_poll_channel_read(channel, 1)
        if queued > 0:
            queued = c_ssh2.libssh2_channel_read_ex(
                channel, c_ssh2.SSH_EXTENDED_DATA_STDERR, output[0], self._size)
            is_stderr[0] = True
        if queued != 0 and queued != error_codes._LIBSSH2_ERROR_EAGAIN:
            return queued
        if rc == 0 and c_ssh2.libssh2_channel_eof(channel):
            return 0
        return error_codes._LIBSSH2_ERROR_EAGAIN

    cdef bint _tells_end(self) noexcept nogil:
        cdef size_t size = 0
        if libssh2_channel_exit_status_told(self._channel._channel):
            return True
        c_ssh2.libssh2_channel_get_exit_signal(self._channel._channel, NULL, &size, NULL, NULL, NULL, NULL)
        return size != 0
