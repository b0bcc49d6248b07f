"""ssh2-python: libssh2, non-blocking under gevent."""
