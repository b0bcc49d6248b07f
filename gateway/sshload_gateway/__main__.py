"""`python -m sshload_gateway`: the gateway's process."""

import argparse
import os
import resource
from pathlib import Path

import prometheus_client
import uvloop

from sshload_gateway.config import ConfigError, read_config
from sshload_gateway.logs import set_up_log
from sshload_gateway.service import serve


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="sshload-gateway", description="Runs commands over SSH for HTTP callers.")
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the configuration, in YAML")
    path = parser.parse_args().config
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it unannotated
    os.umask(0o077)  # nobody else may read a database that it creates
    try:
        config = read_config(path.read_text(encoding="utf-8"))
        set_up_log(config.log_level)
        _allow_many_files()
        uvloop.run(serve(config))
    except (OSError, UnicodeError) as error:
        raise SystemExit(f"sshload-gateway: {path}: {error}") from None
    except ConfigError as error:
        raise SystemExit("\n".join(f"sshload-gateway: {path}: {line}" for line in str(error).splitlines())) from None


def _allow_many_files() -> None:
    """Raise the limit of open files as far as one may: each client and each server is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
