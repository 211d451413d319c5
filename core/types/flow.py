"""Information flow: which inputs can reach an output, which do, and along which edges.

A node is the state of one column at one level of a stack: level 0 is the embedding, level ``l``
what comes out of layer ``l`` counted from 1. A model of one stack has one pile of nodes, whose
stack is named by how its mask reads; an encoder-decoder has one for the source and one for the
target. Columns are those of the whole row, cached ones and pads included.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from core.types.jobs import Job
from core.types.messages import RunRequest
from core.types.models import HeadRef, Stack

LEAST_EDGE = 0.002
"""The smallest share of an output that an edge must carry to be told."""


class FlowMethod(str, Enum):
    """How the share of a node in an output is measured."""

    ROLLOUT = "rollout"
    VALUE_NORM = "value-norm"
    GRADIENT = "gradient"


@dataclass(frozen=True)
class FlowJob(Job):
    """Ask what made the output of one position.

    Attributes
    ----------
    run : model, inputs, batch row, device and backend; head, top and dtype are not asked for.
    position : column of the output stack's whole row, absolute.
    layer : how many layers are looked through, from the first on; None is all of them.
    token : the token whose logit is explained; None is the likeliest there.
    """

    run: RunRequest
    position: int
    layer: int | None = None
    token: int | None = None


@dataclass(frozen=True)
class FlowNode:
    """One column at one level of a stack (ENCODER or DECODER)."""

    stack: Stack
    level: int
    column: int


@dataclass(frozen=True)
class FlowStack:
    """The nodes of one stack, level 0 first.

    Attributes
    ----------
    stack : ENCODER or DECODER.
    reach : bool ``[levels, S]``, True = can reach the output, by the mask alone.
    shares : float32 ``[levels, S]`` by method; one that could not be computed is absent, and a
        sentence in the notes of the result says why. Rollout and value-norm are the part of the
        output's mass that stands at a node: 0 or more, and 1 in sum over a level of a model of one
        stack. An encoder-decoder's output has its 1 in the decoder's level 0 and any one level of
        the encoder together. Gradient is signed, in logits.
    """

    stack: Stack
    reach: NDArray[np.bool_] = field(repr=False)
    shares: dict[FlowMethod, NDArray[np.float32]] = field(repr=False)

    @property
    def levels(self) -> int:
        """Levels, the embedding included."""
        return len(self.reach)

    @property
    def columns(self) -> int:
        """Columns ``S``, pads included."""
        return int(self.reach.shape[1])


@dataclass(frozen=True)
class FlowEdges:
    """Edges that carry `LEAST_EDGE` of the output or more, the strongest first; arrays ``[n]``.

    Attributes
    ----------
    stack : int8, the number in ``tuple(Stack)`` of the attention that the edge belongs to. A
        residual edge has the stack of its nodes.
    layer : int16, the layer of that attention from 0; the upper node stands at level ``layer + 1``.
    query, key : int32, the column of the upper and of the lower node.
    head : int16, the head that gives the edge its largest weight; -1 for a residual edge.
    rollout, value_norm : float32, the part of the output's mass that passes here; NaN where it
        could not be computed.
    encoder_levels : the levels of the encoder whose last one cross edges come from; 0 without one.
    """

    stack: NDArray[np.int8] = field(repr=False)
    layer: NDArray[np.int16] = field(repr=False)
    query: NDArray[np.int32] = field(repr=False)
    key: NDArray[np.int32] = field(repr=False)
    head: NDArray[np.int16] = field(repr=False)
    rollout: NDArray[np.float32] = field(repr=False)
    value_norm: NDArray[np.float32] = field(repr=False)
    encoder_levels: int = 0

    def __len__(self) -> int:
        return len(self.layer)

    def shares(self, method: FlowMethod) -> NDArray[np.float32]:
        """Shares of the edges by a method; a gradient has none, rollout stands in for it."""
        return self.value_norm if method is FlowMethod.VALUE_NORM else self.rollout

    def attention(self, n: int) -> Stack:
        """The stack of the attention that edge ``n`` belongs to."""
        return tuple(Stack)[int(self.stack[n])]

    def head_ref(self, n: int) -> HeadRef | None:
        """The head behind edge ``n``, None for a residual edge."""
        head = int(self.head[n])
        return HeadRef(self.attention(n), int(self.layer[n]), head) if head >= 0 else None

    def upper(self, n: int) -> FlowNode:
        """The node that edge ``n`` leads to."""
        own = self.attention(n)
        stack = Stack.DECODER if own is Stack.CROSS else own
        return FlowNode(stack, int(self.layer[n]) + 1, int(self.query[n]))

    def lower(self, n: int) -> FlowNode:
        """The node that edge ``n`` comes from; that of a cross edge is the encoder's output."""
        own, column = self.attention(n), int(self.key[n])
        if own is Stack.CROSS:
            return FlowNode(Stack.ENCODER, self.encoder_levels - 1, column)
        return FlowNode(own, int(self.layer[n]), column)


@dataclass(frozen=True)
class FlowResult:
    """What made the output of one position.

    ``layer`` is how many layers were looked through, ``token`` the token whose logit the gradient
    explains; ``stacks`` are in the order source, target, so that the last one makes the output;
    ``notes`` are sentences about what could not be computed, or must be known to read the rest;
    ``about`` has those that matter to one method alone.
    """

    generation: int
    position: int
    layer: int
    token: int
    stacks: tuple[FlowStack, ...]
    edges: FlowEdges
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    about: dict[str, FlowMethod] = field(default_factory=dict)

    def notes_for(self, method: FlowMethod) -> tuple[str, ...]:
        """The notes that matter to the shares of a method."""
        return tuple(note for note in self.notes if self.about.get(note, method) is method)

    @property
    def output(self) -> FlowNode:
        """The node that everything flows to."""
        return FlowNode(self.stacks[-1].stack, self.layer, self.position)
