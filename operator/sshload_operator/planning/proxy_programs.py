"""The proxies that a run can deploy: of each kind its Debian packages, its command, its configuration and its limits.

This is the only place that knows one kind from another. All of them pass TCP on in both directions until one side
closes, with Debian's defaults but for what could hold a session up or end it. No connection is made to the server but
for one of a client: health checks would be counted as connections there. A connection that the server refuses is not
tried again, which would hide the refusal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from sshload_contract.wire.program import (
    ADDRESS_PLACE,
    FOLDER_PLACE,
    SERVER_PLACE,
    ProgramConfig,
)

from sshload_operator.api.targets.proxy import Proxy, ProxyKind

FILES_PER_CONNECTION: Final = 2
OTHER_FILES: Final = 200
"""What a proxy opens besides connections, at most: its log, listeners, and a few files for each thread."""


@dataclass(frozen=True, slots=True)
class ProxyPlaces:
    """Where a proxy listens, where what observes it answers, and the server that it passes connections on to.

    `program` is the path of the proxy's program, empty for the one on the path. The server `speaks_http` where it is
    no sshd.
    """

    port: int
    stats_port: int
    server: str
    server_port: int
    program: str = ""
    speaks_http: bool = False


@dataclass(frozen=True, slots=True)
class ProxyProgram:
    """How a kind of proxy is run: the path of its configuration follows `arguments`.

    `packages` are Debian's, the first of which has the program, and `version_argument` lets it say its name and
    version. `modules` are files without which it cannot do what its configuration asks for. Where it `queues`,
    connections that are more than it passes on wait at it; where not, it closes them.
    """

    name: str
    packages: tuple[str, ...]
    version_argument: str
    arguments: tuple[str, ...]
    config: Callable[[Proxy, ProxyPlaces], str]
    queues: bool
    modules: tuple[str, ...] = ()


def _haproxy_config(proxy: Proxy, places: ProxyPlaces) -> str:
    return f"""\
global
    maxconn {proxy.max_connections}

defaults
    mode tcp
    retries 0
    timeout connect 10m
    timeout client 24d
    timeout server 24d

frontend ssh
    bind "{ADDRESS_PLACE}:{places.port}" v4v6 backlog 65535
    default_backend sshd

backend sshd
    server sshd {SERVER_PLACE}:{places.server_port}
"""


_TEMPORARY: Final = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
_UNLIMITED: Final = 1_000_000_000
_STREAM_MODULE: Final = "/usr/lib/nginx/modules/ngx_stream_module.so"


def _nginx_config(proxy: Proxy, places: ProxyPlaces) -> str:
    """Return the configuration of nginx, whose workers each have room for all connections: any of them may take any."""
    files = open_files(proxy)
    return f"""\
daemon off;
pid "{FOLDER_PLACE}/nginx.pid";
error_log stderr warn;
load_module {_STREAM_MODULE};
worker_processes auto;
worker_rlimit_nofile {files};

events {{
    worker_connections {files};
}}

{_nginx_http(proxy, places) if places.speaks_http else _nginx_stream(proxy, places)}"""


def _nginx_stream(proxy: Proxy, places: ProxyPlaces) -> str:
    return f"""\
stream {{
    limit_conn_zone $server_port zone=all:1m;

    server {{
        listen {ADDRESS_PLACE}:{places.port} backlog=65535 ipv6only=off;
        limit_conn all {proxy.max_connections};
        proxy_pass {SERVER_PLACE}:{places.server_port};
        proxy_connect_timeout 10m;
        proxy_timeout 24d;
        proxy_half_close on;
    }}
}}
"""


def _nginx_http(proxy: Proxy, places: ProxyPlaces) -> str:
    """Return the part of a proxy before a gateway. Connections on both sides are kept, and nothing is put on a disk.

    The gateway closes a connection that was idle for 75 s; nginx is to do so first.
    """
    temporary = "".join(f'    {name}_temp_path "{FOLDER_PLACE}/{name}";\n' for name in _TEMPORARY)
    return f"""\
http {{
{temporary}\
    access_log off;
    keepalive_timeout 24h;
    keepalive_requests {_UNLIMITED};
    client_max_body_size 0;
    limit_conn_zone $server_port zone=all:1m;

    upstream gateway {{
        server {SERVER_PLACE}:{places.server_port};
        keepalive {proxy.max_connections};
        keepalive_requests {_UNLIMITED};
        keepalive_timeout 60s;
    }}

    server {{
        listen {ADDRESS_PLACE}:{places.port} backlog=65535 ipv6only=off;
        limit_conn all {proxy.max_connections};

        location / {{
            proxy_pass http://gateway;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_request_buffering off;
            proxy_buffering off;
            proxy_next_upstream off;
            proxy_connect_timeout 10m;
            proxy_read_timeout 24h;
            proxy_send_timeout 24h;
        }}
    }}
}}
"""


PROXY_PROGRAMS: Final[Mapping[ProxyKind, ProxyProgram]] = MappingProxyType(
    {
        ProxyKind.HAPROXY: ProxyProgram(
            name="haproxy",
            packages=("haproxy",),
            version_argument="-v",
            arguments=("-db", "-f"),
            config=_haproxy_config,
            queues=True,
        ),
        ProxyKind.NGINX: ProxyProgram(
            name="nginx",
            packages=("nginx", "libnginx-mod-stream"),
            version_argument="-v",
            arguments=("-e", "stderr", "-c"),
            config=_nginx_config,
            queues=False,
            modules=(_STREAM_MODULE,),
        ),
    }
)


def open_files(proxy: Proxy) -> int:
    """Return how many files a proxy may have open at once."""
    return FILES_PER_CONNECTION * proxy.max_connections + OTHER_FILES


def program_config(proxy: Proxy, places: ProxyPlaces) -> ProgramConfig:
    """Return what PID 1 of the proxy is told."""
    program = PROXY_PROGRAMS[proxy.kind]
    return ProgramConfig(
        command=(places.program or program.name, *program.arguments),
        config=program.config(proxy, places),
        server=places.server,
        port=places.port,
        stats_port=places.stats_port,
        open_files=open_files(proxy),
    )
