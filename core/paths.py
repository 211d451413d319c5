"""Where the files that ship with the program lie."""

from __future__ import annotations

from pathlib import Path

ASSETS = Path(__file__).resolve().parent.parent / "assets"
MODELS = ASSETS / "models"
ICON = ASSETS / "icons" / "maskscope.svg"
TOKENIZER = ASSETS / "tokenizer" / "tokenizer.json"
