"""The pages of the guide: the blocks of code in them, their commands, and the files that the commands name.

Command lines of `sshload`, taken apart without being run.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml
from sshload_operator.cli.commands import sshload

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"\bSave this as `([\w.-]+)`:\n\n\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of code, with the page and line where it stands.

    `saved_as` is the file that the sentence before it names, empty where there is no such sentence.
    """

    page: Path
    line: int
    language: str
    text: str
    saved_as: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def document(self) -> dict[str, Any]:
        """The YAML document that it is."""
        found: dict[str, Any] = yaml.safe_load(self.text)
        return found


def blocks(*languages: str) -> Iterator[Block]:
    """Yield all blocks in these languages."""
    for page in PAGES:
        yield from blocks_of(page, *languages)


def blocks_of(page: Path, *languages: str) -> Iterator[Block]:
    """Yield a page's blocks in these languages."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        if found[1] in languages:
            saved = _SAVED.search(text[: found.start()])
            line = text.count("\n", 0, found.start()) + 1
            yield Block(page, line, found[1], found[2], "" if saved is None else saved[1])


def commands(block: Block) -> Iterator[list[str]]:
    """Yield the words of each command line of a block, with its redirection."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


def yaml_file(page: Path, name: str) -> Block | None:
    """Return the block that a command of a page means by a YAML file of the reader's.

    It is the block that the page says to save so, else the one whose object has that name, else, of `test.yaml`, the
    page's first object; else the README's of that name; None where there is none of these.
    """
    shown = tuple(blocks_of(page, "yaml"))
    stem = name.removesuffix(".yaml")
    objects = [block for block in shown if "apiVersion:" in block.text]
    found = [block for block in shown if block.saved_as == name]
    found += [block for block in objects if block.document["metadata"]["name"] == stem]
    if stem == "test":
        found += objects
    found += [block for block in blocks_of(ROOT / "README.md", "yaml") if block.document["metadata"]["name"] == stem]
    return next(iter(found), None)


def subcommands() -> Mapping[str, click.Command]:
    """Return all commands by name."""
    context = click.Context(sshload)
    return {name: command for name in sshload.list_commands(context) if (command := sshload.get_command(context, name))}


def parse(words: Sequence[str]) -> click.Context:
    """Return the command that these words call, with its options read; raises click.UsageError."""
    context = sshload.make_context("sshload", list(words), resilient_parsing=False)
    name, command, rest = sshload.resolve_command(context, [*context._protected_args, *context.args])
    if command is None:
        raise click.UsageError(f"there is no command {name}")
    return command.make_context(name, rest, parent=context)
