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

# What the patches add to libssh2.h.

from . cimport c_ssh2

cdef extern from "libssh2.h" nogil:
    int libssh2_channel_exit_status_told(c_ssh2.LIBSSH2_CHANNEL *channel)
    size_t libssh2_session_disconnect_text(c_ssh2.LIBSSH2_SESSION *session, const char **text)
    const unsigned char *libssh2_userauth_last_failure(c_ssh2.LIBSSH2_SESSION *session, size_t *len)
    unsigned int libssh2_userauth_banners(c_ssh2.LIBSSH2_SESSION *session)
    void libssh2_userauth_keyboard_interactive_stop(c_ssh2.LIBSSH2_SESSION *session)
    int libssh2_session_serve(c_ssh2.LIBSSH2_SESSION *session, int ask, int *answers)
