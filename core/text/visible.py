"""White space and control characters made visible, so that no token looks empty."""

from __future__ import annotations

_VISIBLE = {" ": "␣", "\n": "⏎", "\t": "⇥"}


def visible(text: str) -> str:
    """A short name of a piece of text for an axis.

    The space before a word is not shown. White space alone is shown as ␣, ⏎ and ⇥, a control
    character as its hexadecimal value, ⟨0b⟩. What is visible already stays as it is.
    """
    if text.strip(" "):
        text = text.removeprefix(" ")
    shown = (_VISIBLE.get(letter, letter) for letter in text)
    return "".join(letter if letter.isprintable() else f"⟨{ord(letter):02x}⟩" for letter in shown)
