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

from .clock cimport now_ns
from .sftp cimport SFTP
from .utils cimport to_bytes, handle_error_codes
from . cimport c_sftp
from . cimport c_ssh2
from . cimport error_codes

cdef extern from *:
    """
    #ifdef __linux__
    #include <netinet/in.h>
    #include <netinet/tcp.h>
    #include <sys/socket.h>
    static void set_cork(int sock, int on) {
        setsockopt(sock, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
    }
    #else
    #define set_cork(sock, on) ((void)(sock), (void)(on))
    #endif
    """
    void set_cork(int sock, int on) noexcept nogil

cdef enum:
    OPENING = 0
    READING = 1
    CLOSING = 2
    CLOSED = 3


cdef class FileReading:
    """A file of the server that is opened, read to its end and closed, in one call that is made until it is done.

    It makes the calls of :py:class:`ssh2.sftp.SFTP` and :py:class:`ssh2.sftp_handle.SFTPHandle` in their order.
    Instants are those of CLOCK_MONOTONIC in nanoseconds at which libssh2 has returned from what they end, and 0 until
    then. What is not read to its end has to be freed by :py:meth:`free`.
    """

    cdef SFTP _sftp
    cdef bytes _path
    cdef const char *_name
    cdef c_sftp.LIBSSH2_SFTP_HANDLE *_handle
    cdef size_t _size
    cdef size_t _growth
    cdef size_t _most
    cdef int _stage
    cdef readonly long long opened_ns
    cdef readonly long long first_byte_ns
    cdef readonly long long output_end_ns
    cdef readonly long long closed_ns

    def __cinit__(self, SFTP sftp not None, path not None, size_t size, size_t growth, size_t most):
        """
        :param size: The most bytes of the first piece; of each after it, ``growth`` times as much, up to ``most``.
        """
        self._sftp = sftp
        if sftp._sftp is NULL:
            raise ValueError('the subsystem is not open')
        self._path = to_bytes(path)
        self._name = self._path
        self._size = size
        self._growth = growth
        self._most = most

    def advance(self):
        """Go on as far as that takes no waiting, but at most to the next piece of the file.

        :returns: ``LIBSSH2_ERROR_EAGAIN`` where the session has to wait, the piece, or ``None`` at the end.
        """
        cdef char *piece = NULL
        cdef ssize_t rc
        with nogil:
            rc = self._advance(&piece)
        try:
            if rc > 0:
                return piece[:rc]
        finally:
            free(piece)
        return handle_error_codes(rc) or None

    def free(self):
        """Give up what is still open. Of use where the connection has ended: then it needs no waiting."""
        cdef c_sftp.LIBSSH2_SFTP_HANDLE *handle = self._handle
        self._stage = CLOSED
        self._handle = NULL
        if handle is not NULL:
            with nogil:
                c_sftp.libssh2_sftp_close_handle(handle)

    cdef ssize_t _advance(self, char **piece) noexcept nogil:
        """Return the size of the next piece, 0 at the end, or what libssh2 says."""
        cdef ssize_t rc
        if self._stage == CLOSED:
            return 0 if self.closed_ns else error_codes._LIBSSH2_ERROR_BAD_USE
        if self._stage == OPENING:
            self._handle = c_sftp.libssh2_sftp_open(
                self._sftp._sftp, self._name, c_sftp.LIBSSH2_FXF_READ, 0)
            if self._handle is NULL:
                return (c_ssh2.libssh2_session_last_errno(self._sftp._session._session)
                        or error_codes._LIBSSH2_ERROR_SFTP_PROTOCOL)
            self.opened_ns = now_ns()
            self._stage = READING
        if self._stage == READING:
            rc = self._read(piece)
            if rc != 0:
                return rc
            self.output_end_ns = now_ns()
            self._stage = CLOSING
        if self._stage == CLOSING:
            rc = c_sftp.libssh2_sftp_close_handle(self._handle)
            if rc == error_codes._LIBSSH2_ERROR_EAGAIN:
                return rc
            self._handle = NULL  # freed, whatever the server says
            self._stage = CLOSED
            if rc != 0:
                return rc
            self.closed_ns = now_ns()
        return 0

    cdef ssize_t _read(self, char **piece) noexcept nogil:
        """Return the size of the next piece, 0 at the file's end, or what libssh2 says.

        libssh2 sends a request for each 30,000 bytes, several in one call. With the socket corked they share segments.
        """
        cdef int sock = self._sftp._session._sock
        cdef ssize_t rc
        piece[0] = <char *>malloc(self._size)
        if piece[0] is NULL:
            return error_codes._LIBSSH2_ERROR_ALLOC
        set_cork(sock, 1)
        rc = c_sftp.libssh2_sftp_read(self._handle, piece[0], self._size)
        set_cork(sock, 0)
        if rc > 0:
            if self.first_byte_ns == 0:
                self.first_byte_ns = now_ns()
            self._size = min(self._growth * self._size, self._most)
        return rc
