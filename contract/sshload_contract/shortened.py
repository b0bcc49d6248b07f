"""Texts that are longer than there is room for."""

_ELLIPSIS = "…"
_LEFT_OPEN = " \t\r\n,;:("


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
