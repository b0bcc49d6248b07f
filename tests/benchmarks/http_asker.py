"""Asks an HTTP port again and again, and prints how long each answer took, in seconds, or "none".

`python http_asker.py HOST PORT plain|tls PATH` asks until it has input. It needs nothing but Python's own library, so
that it runs in any pod.
"""

import select
import ssl
import sys
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection

_EVERY_S = 0.2
_TIMEOUT_S = 5.0


def main() -> None:
    """Ask, by a connection of its own each time, until standard input ends."""
    host, port, tls, path = sys.argv[1:]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    while not select.select([sys.stdin], [], [], _EVERY_S)[0]:
        asked_s = time.monotonic()
        if tls == "tls":
            connection: HTTPConnection = HTTPSConnection(host, int(port), timeout=_TIMEOUT_S, context=context)
        else:
            connection = HTTPConnection(host, int(port), timeout=_TIMEOUT_S)
        try:
            connection.request("GET", path)
            connection.getresponse().read()
        except (OSError, HTTPException):
            print("none", flush=True)  # noqa: T201 - its parent reads it
        else:
            print(time.monotonic() - asked_s, flush=True)  # noqa: T201 - likewise
        finally:
            connection.close()


if __name__ == "__main__":
    main()
