"""The instruments that there are; a new one is a line here."""

from __future__ import annotations

from app.instruments.base import Instrument
from app.instruments.compare import Compare

INSTRUMENTS: tuple[type[Instrument], ...] = (Compare,)
