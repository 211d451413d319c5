"""Predicates that say who may read whom, and their algebra.

A rule is asked with four index arrays that broadcast against each other:

* ``b`` batch row, ``h`` head,
* ``q`` the *absolute* query position ``past + r`` of query row ``r``,
* ``kv`` the key column,

and answers with a bool array, True where the query may read the key. This is the argument order
of FlexAttention's ``mask_mod``. The functions use comparison, bit and arithmetic operators only,
so one function serves numpy arrays and torch tensors on any device, fake ones included, and
nothing here imports a tensor library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeAlias

Array: TypeAlias = Any
"""A numpy array or a torch tensor."""

_NEVER = 2**30
"""A column past every key, still an int32: the start of a document that a row does not have."""


@dataclass(frozen=True)
class Rule:
    """A named predicate; rules combine with ``&`` (both), ``|`` (either) and ``~`` (not).

    Attributes
    ----------
    fn : function of integer arrays ``(b, h, q, kv)``, all of one signed dtype that holds every
        position. Its bool answer may have size 1 along axes that it does not depend on.
    name : how the rule reads, such as ``(causal | prefix) & padding``.
    sign : the operator that ``name`` is made with, empty for a name that needs no brackets.
    """

    fn: Callable[[Array, Array, Array, Array], Array]
    name: str
    sign: str = ""

    def __call__(self, b: Array, h: Array, q: Array, kv: Array) -> Array:
        """Bool array, broadcastable to the arguments' common shape; True = may read."""
        return self.fn(b, h, q, kv)

    def __and__(self, other: Rule) -> Rule:
        """Open where both are open."""
        return Rule(
            lambda b, h, q, kv: self(b, h, q, kv) & other(b, h, q, kv),
            f"{self._operand('&')} & {other._operand('&')}",
            "&",
        )

    def __or__(self, other: Rule) -> Rule:
        """Open where at least one is open."""
        return Rule(
            lambda b, h, q, kv: self(b, h, q, kv) | other(b, h, q, kv),
            f"{self._operand('|')} | {other._operand('|')}",
            "|",
        )

    def __invert__(self) -> Rule:
        """Open where this one is closed."""
        return Rule(lambda b, h, q, kv: ~self(b, h, q, kv), f"~{self._operand('~')}")

    def _operand(self, sign: str) -> str:
        return self.name if self.sign in ("", sign) else f"({self.name})"


def _of_row(b: Array, values: tuple[int, ...]) -> Array:
    """``values[b]`` as an array of ``b``'s own kind, or a plain int where all rows agree.

    A staircase over ``b`` instead of a look-up table: a table would have to be made by the array
    library and put on ``b``'s device, which tracers and fake tensors do not take.
    """
    steps = [(row, values[row] - values[row - 1]) for row in range(1, len(values))]
    return sum((step * (b >= row) for row, step in steps if step), values[0])


def everything() -> Rule:
    """Every query reads every key (BERT; cross-attention).

    ::

        11111
        11111
        11111
        11111
        11111
    """
    return Rule(lambda b, h, q, kv: kv >= 0, "everything")


def causal() -> Rule:
    """A query reads itself and what came before (GPT): ``kv <= q``.

    The diagonal is open: input ``i`` is context for target ``i + 1``. With cached keys the
    triangle is aligned to the bottom right, because ``q`` is absolute. ::

        10000
        11000
        11100
        11110
        11111
    """
    return Rule(lambda b, h, q, kv: kv <= q, "causal")


def prefix(ends: tuple[int, ...]) -> Rule:
    """Queries and keys before the end of the prefix read each other both ways (UniLM, T5).

    Only the square block; unite it with `causal` for a prefix-LM.

    Parameters
    ----------
    ends : for each batch row, the first column after the prefix. ``(3,)`` draws::

        11100
        11100
        11100
        00000
        00000
    """

    def fn(b: Array, h: Array, q: Array, kv: Array) -> Array:
        end = _of_row(b, ends)
        return (q < end) & (kv < end)

    return Rule(fn, "prefix")


def window(width: int, two_sided: bool = False) -> Rule:
    """A query reaches ``width`` keys back, itself included: ``q - kv < width``.

    Counted as in Hugging Face's ``sliding_window``; some libraries let one key more through.

    Parameters
    ----------
    width : 1 or more; 1 leaves the query itself.
    two_sided : also ``kv - q < width``. Width 2 draws, one-sided and two-sided::

        11111   11000
        11111   11100
        01111   01110
        00111   00111
        00011   00011

    Raises
    ------
    ValueError
        where ``width`` is below 1.
    """
    if width < 1:
        raise ValueError(f"width is {width}, but must be 1 or more.")
    if two_sided:
        return Rule(
            lambda b, h, q, kv: (kv > q - width) & (kv < q + width), f"two-sided window {width}"
        )
    return Rule(lambda b, h, q, kv: kv > q - width, f"window {width}")


def documents(starts: tuple[tuple[int, ...], ...]) -> Rule:
    """A query reads keys of its own document, whichever way.

    What lies before the first token belongs to the first document and what lies after the last
    token to the last one, so that pad *query* rows follow the ordinary rule.

    Parameters
    ----------
    starts : for each batch row, the columns in which its second and later documents begin.
        ``((2,),)`` draws::

        11000
        11000
        00111
        00111
        00111
    """
    columns = tuple(zip_longest(*starts, fillvalue=_NEVER))

    def number(b: Array, x: Array) -> Array:
        return sum(x >= _of_row(b, column) for column in columns)

    def fn(b: Array, h: Array, q: Array, kv: Array) -> Array:
        return number(b, q) == number(b, kv)

    return Rule(fn if columns else everything().fn, "documents")


def not_padding(left: tuple[int, ...], right: tuple[int, ...], filled: int) -> Rule:
    """Pad slots are closed as keys; cache slots from ``filled`` on are not its business.

    Parameters
    ----------
    left, right : pad slots at either side of the filled columns, for each batch row.
    filled : columns that hold a token or a pad. ``(1,), (1,), 5`` draws::

        01110
        01110
        01110
        01110
        01110
    """
    ends = tuple(filled - n for n in right)

    def fn(b: Array, h: Array, q: Array, kv: Array) -> Array:
        real = kv >= _of_row(b, left)
        return real & ((kv < _of_row(b, ends)) | (kv >= filled)) if any(right) else real

    return Rule(fn, "padding")


def filled(n: int) -> Rule:
    """Only the first ``n`` cache slots hold a key.

    ``filled(3)`` draws::

    11100
    11100
    11100
    11100
    11100
    """
    return Rule(lambda b, h, q, kv: kv < n, "filled")
