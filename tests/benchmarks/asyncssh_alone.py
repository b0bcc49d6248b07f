"""A client of asyncssh and nothing else: what a command costs in the library that the gateway has.

It runs a command again and again over connections that stay open, as fast as it can or at a rate, and prints the CPU
milliseconds of its process for each.
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path

import asyncssh
import uvloop


async def cost_ms(options: argparse.Namespace) -> float:
    """Return the CPU time for each command, in milliseconds, logins not included."""
    connections = [await _connected(options) for _ in range(options.connections)]
    apart_s = options.connections / options.rate if options.rate else 0.0
    began, cpu_s = time.monotonic(), time.process_time()

    async def run(number: int, ssh: asyncssh.SSHClientConnection) -> int:
        commands = 0
        due = began + number * apart_s / options.connections
        while (now := time.monotonic()) < began + options.seconds:
            if due > now:
                await asyncio.sleep(due - now)
            due += apart_s
            await ssh.run(options.command, encoding=None, check=True)
            commands += 1
        return commands

    commands = await asyncio.gather(*(run(number, ssh) for number, ssh in enumerate(connections)))
    spent_s = time.process_time() - cpu_s
    for ssh in connections:
        ssh.close()
    return spent_s * 1_000 / sum(commands)


async def _connected(options: argparse.Namespace) -> asyncssh.SSHClientConnection:
    return await asyncssh.connect(
        "127.0.0.1",
        options.port,
        config=None,
        known_hosts=str(options.known_hosts),
        username=options.user,
        client_keys=[str(options.key)],
        agent_path=None,
        compression_algs=None,
        encryption_algs="^aes128-gcm@openssh.com",  # the cheapest for it, which the gateway chooses too
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--known-hosts", type=Path, required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--rate", type=float, help="commands per second, as fast as it can by default")
    parser.add_argument("--seconds", type=float, required=True)
    sys.stdout.write(f"{uvloop.run(cost_ms(parser.parse_args()))}\n")
