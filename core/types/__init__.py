"""The frozen dataclasses that cross rooms.

Nothing here computes a mask or touches a tensor library: the GUI process imports this module and
must stay free of torch. Arrays are numpy, owned by whoever made the object, and treated as
read-only by everyone else.

Letters used in shapes: ``B`` batch rows, ``H`` heads, ``L`` layers, ``Tq`` query rows, ``S`` key
columns, ``V`` vocabulary entries.
"""

from core.types.backends import BackendRow, BackendsJob, BackendTable
from core.types.checks import Check, CheckJob, CheckReport, Place, Verdict
from core.types.compare import MOVED, CompareJob, Comparison, Levels, Side
from core.types.cost import (
    Cost,
    CostCurves,
    Measured,
    MeasuredPoint,
    MeasureJob,
    ModelSizes,
    Quantity,
    Tally,
    Term,
    Workload,
)
from core.types.data import Data, DataArray, DataJob, Written
from core.types.embeddings import EmbeddingsJob, EmbeddingsView, Pooling
from core.types.exports import BOUNDS, LOSSY_BOUNDS, Exported, ExportJob, ParityCase, ParityReport
from core.types.flow import (
    LEAST_EDGE,
    FlowEdges,
    FlowJob,
    FlowMethod,
    FlowNode,
    FlowResult,
    FlowStack,
)
from core.types.jobs import Answer, Job, Progress
from core.types.masks import MaskKind, MaskSpec, Reason
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
from core.types.models import Family, HeadRef, ModelCard, Stack
from core.types.objectives import MASK_RATE, Noise, Objective, ObjectiveJob, ObjectiveView, Shift
from core.types.stages import Stages, StagesJob

__all__ = [
    "BOUNDS",
    "LEAST_EDGE",
    "LOSSY_BOUNDS",
    "MASK_RATE",
    "MOVED",
    "Answer",
    "AttentionMaps",
    "BackendRow",
    "BackendTable",
    "BackendsJob",
    "Check",
    "CheckJob",
    "CheckReport",
    "CompareJob",
    "Comparison",
    "Cost",
    "CostCurves",
    "Data",
    "DataArray",
    "DataJob",
    "EmbeddingsJob",
    "EmbeddingsView",
    "ExportJob",
    "Exported",
    "Family",
    "FlowEdges",
    "FlowJob",
    "FlowMethod",
    "FlowNode",
    "FlowResult",
    "FlowStack",
    "GenerateRequest",
    "HeadPattern",
    "HeadRef",
    "HeadRequest",
    "Inputs",
    "Job",
    "Levels",
    "MaskKind",
    "MaskSpec",
    "MeasureJob",
    "Measured",
    "MeasuredPoint",
    "ModelCard",
    "ModelSizes",
    "Noise",
    "Objective",
    "ObjectiveJob",
    "ObjectiveView",
    "ParityCase",
    "ParityReport",
    "Place",
    "Pooling",
    "Progress",
    "Quantity",
    "Reason",
    "RunRequest",
    "RunResult",
    "Sampling",
    "Shift",
    "Side",
    "Stack",
    "Stages",
    "StagesJob",
    "StepEvent",
    "Tally",
    "Term",
    "Verdict",
    "Workload",
    "Written",
]
