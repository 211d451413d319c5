"""The instruments that there are; a new one is a line here."""

from __future__ import annotations

from app.instruments.backends import Backends
from app.instruments.base import Instrument
from app.instruments.checks import Checks
from app.instruments.compare import Compare
from app.instruments.cost import Cost
from app.instruments.embeddings import Embeddings
from app.instruments.flow import Flow
from app.instruments.objectives import Objectives
from app.instruments.stages import Stages

INSTRUMENTS: tuple[type[Instrument], ...] = (
    Flow,
    Stages,
    Compare,
    Checks,
    Backends,
    Objectives,
    Embeddings,
    Cost,
)
