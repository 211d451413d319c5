"""The frozen dataclasses that cross rooms.

Nothing here computes a mask or touches a tensor library: the GUI process imports this module and
must stay free of torch. Arrays are numpy, owned by whoever made the object, and treated as
read-only by everyone else.

Letters used in shapes: ``B`` batch rows, ``H`` heads, ``L`` layers, ``Tq`` query rows, ``S`` key
columns, ``V`` vocabulary entries.
"""

from core.types.backends import BackendRow, BackendsJob, BackendTable
from core.types.jobs import Answer, Job, Progress
from core.types.masks import (
    MaskKind,
    MaskSpec,
    Reason,
)
from core.types.messages import (
    AttentionMaps,
    GenerateRequest,
    HeadPattern,
    HeadRequest,
    Inputs,
    RunRequest,
    RunResult,
    Sampling,
    StepEvent,
)
from core.types.models import (
    Family,
    HeadRef,
    ModelCard,
    Stack,
)

__all__ = [
    "Answer",
    "AttentionMaps",
    "BackendRow",
    "BackendTable",
    "BackendsJob",
    "Family",
    "GenerateRequest",
    "HeadPattern",
    "HeadRef",
    "HeadRequest",
    "Inputs",
    "Job",
    "MaskKind",
    "MaskSpec",
    "ModelCard",
    "Progress",
    "Reason",
    "RunRequest",
    "RunResult",
    "Sampling",
    "Stack",
    "StepEvent",
]
