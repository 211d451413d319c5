"""The instruments that there are; a new one is a line here."""

from __future__ import annotations

from app.instruments.backends import Backends
from app.instruments.base import Instrument
from app.instruments.checks import Checks
from app.instruments.compare import Compare
from app.instruments.embeddings import Embeddings
from app.instruments.flow import Flow
from app.instruments.objectives import Objectives

INSTRUMENTS: tuple[type[Instrument], ...] = (
    Flow,
    Compare,
    Checks,
    Backends,
    Objectives,
    Embeddings,
)
