"""Texts of others for a message: without control characters, and no longer than there is room."""

from collections.abc import Sequence

_ELLIPSIS = "…"
_LEFT_OPEN = " \t\r\n,;:("


def printable(text: str) -> str:
    """Return the text with "?" in place of what is not printable, such as line ends and control characters."""
    return "".join(character if character.isprintable() else "?" for character in text)


def listed(names: Sequence[str], most: int, most_characters: int) -> str:
    """Return the first names, each printable and bounded, and how many more there are."""
    shown = ", ".join(printable(name[:most_characters]) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def shortened(text: str, limit_characters: int) -> str:
    """Return the text, cut between two words and ended by "…" if it has more characters than this.

    Only a word that fills half of the room is cut itself.
    """
    if len(text) <= limit_characters:
        return text
    room = max(limit_characters - len(_ELLIPSIS), 0)
    kept = text[:room]
    if kept and not (kept[-1].isspace() or text[room].isspace()):
        whole_words = kept[: len(kept) - len(kept.split()[-1])]
        kept = whole_words if 2 * len(whole_words) > room else kept
    return f"{kept.rstrip(_LEFT_OPEN)}{_ELLIPSIS}"[:limit_characters]
