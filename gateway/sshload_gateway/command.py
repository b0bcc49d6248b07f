"""The command `sshload-gateway`, which says what to install where the gateway's libraries are missing."""

from importlib import import_module


def main() -> None:
    """Run the gateway."""
    try:
        program = import_module("sshload_gateway.__main__")
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"sshload-gateway: {error}: install sshload with its extra gateway, "
            "for instance by pipx install '.[gateway]'"
        ) from None
    program.main()
