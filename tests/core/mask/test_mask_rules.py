"""The algebra of rules and how their names read."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch

from core.mask.rules import (
    Rule,
    causal,
    documents,
    everything,
    filled,
    not_padding,
    prefix,
    window,
)
from core.mask.spec import rule
from core.types import MaskKind, MaskSpec

B, Q, KV = np.ix_(range(3), range(7), range(7))
H = np.zeros(1, int)
RULES = (
    everything(),
    causal(),
    prefix((3, 0, 7)),
    window(2),
    window(3, two_sided=True),
    documents(((2, 5), (), (4,))),
    not_padding((0, 2, 1), (1, 0, 3), 7),
    filled(6),
)


def cells(asked: Rule) -> np.ndarray:
    return np.broadcast_to(asked(B, H, Q, KV), (3, 7, 7))


@pytest.mark.parametrize("one", RULES, ids=lambda r: r.name)
def test_laws_of_one(one):
    nothing = ~everything()
    assert not cells(nothing).any()
    np.testing.assert_array_equal(cells(~~one), cells(one))
    np.testing.assert_array_equal(cells(one & one), cells(one))
    np.testing.assert_array_equal(cells(one | one), cells(one))
    np.testing.assert_array_equal(cells(one & everything()), cells(one))
    np.testing.assert_array_equal(cells(one | nothing), cells(one))
    assert not cells(one & ~one).any()
    assert cells(one | ~one).all()


def test_laws_of_two_and_three():
    for one, two in itertools.product(RULES, repeat=2):
        np.testing.assert_array_equal(cells(one & two), cells(one) & cells(two))
        np.testing.assert_array_equal(cells(one & two), cells(two & one))
        np.testing.assert_array_equal(cells(one | two), cells(two | one))
        np.testing.assert_array_equal(cells(~(one & two)), cells(~one | ~two))
        np.testing.assert_array_equal(cells(~(one | two)), cells(~one & ~two))
        np.testing.assert_array_equal(cells(one & (one | two)), cells(one))
    for one, two, three in itertools.combinations(RULES, 3):
        np.testing.assert_array_equal(
            cells(one & (two | three)), cells((one & two) | (one & three))
        )


def test_numpy_and_torch_answer_alike():
    b, h, q, kv = (torch.from_numpy(np.asarray(x)) for x in (B, H, Q, KV))
    for one in RULES:
        told = one(b, h, q, kv)
        assert told.dtype is torch.bool
        np.testing.assert_array_equal(told.expand(3, 7, 7).numpy(), cells(one))


@pytest.mark.parametrize(
    ("one", "picture"),
    [
        (everything(), "11111/11111/11111/11111/11111"),
        (causal(), "10000/11000/11100/11110/11111"),
        (prefix((3,)), "11100/11100/11100/00000/00000"),
        (window(2), "11111/11111/01111/00111/00011"),
        (window(2, two_sided=True), "11000/11100/01110/00111/00011"),
        (documents(((2,),)), "11000/11000/00111/00111/00111"),
        (documents(((),)), "11111/11111/11111/11111/11111"),
        (not_padding((1,), (1,), 5), "01110/01110/01110/01110/01110"),
        (not_padding((1,), (1,), 4), "01101/01101/01101/01101/01101"),
        (filled(3), "11100/11100/11100/11100/11100"),
    ],
    ids=lambda x: getattr(x, "name", None),
)
def test_each_rule_draws_what_its_docstring_shows(one, picture):
    told = np.broadcast_to(one(B[:1], H, Q[:, :5], KV[:, :, :5])[0], (5, 5))
    assert "/".join("".join(str(int(cell)) for cell in row) for row in told) == picture


def test_small_integers_do_not_overflow():
    b, h, q, kv = (np.asarray(x, np.int32) for x in (B, H, Q, KV))
    for one in RULES:
        np.testing.assert_array_equal(np.broadcast_to(one(b, h, q, kv), (3, 7, 7)), cells(one))


def test_names_read_well():
    assert (causal() & window(4)).name == "causal & window 4"
    padding = not_padding((1,), (0,), 5)
    assert ((causal() | prefix((3,))) & padding).name == "(causal | prefix) & padding"
    assert (causal() & window(4) & padding).name == "causal & window 4 & padding"
    assert (causal() | prefix((3,)) | everything()).name == "causal | prefix | everything"
    assert ((causal() & window(2)) | documents(((2,),))).name == "(causal & window 2) | documents"
    assert (~causal()).name == "~causal"
    assert (~causal() & ~(window(2) | padding)).name == "~causal & ~(window 2 | padding)"


def test_a_spec_reads_as_its_rules():
    assert rule(MaskSpec(MaskKind.BIDIRECTIONAL, 4)).name == "everything"
    assert rule(MaskSpec(MaskKind.CAUSAL, 4)).name == "causal"
    full = MaskSpec(
        MaskKind.PREFIX, 8, prefix=3, left_pad=(1,), window=4, documents=(3, 4), capacity=10
    )
    assert rule(full).name == "(causal | prefix) & window 4 & documents & filled & padding"
    banded = MaskSpec(MaskKind.BIDIRECTIONAL, 8, window=3)
    assert rule(banded).name == "two-sided window 3"


@pytest.mark.parametrize("width", [0, -3])
def test_a_window_counts_the_query_itself(width):
    with pytest.raises(ValueError, match=f"width is {width}, but must be 1 or more"):
        window(width)


def test_no_tensor_library_is_imported():
    code = (
        "import importlib, pkgutil, sys, core.mask\n"
        "for m in pkgutil.iter_modules(core.mask.__path__):\n"
        "    importlib.import_module('core.mask.' + m.name)\n"
        "from core.mask.dense import dense\n"
        "from core.types import MaskKind, MaskSpec\n"
        "assert dense(MaskSpec(MaskKind.CAUSAL, 3)).sum() == 6\n"
        "assert not {'torch', 'onnx', 'onnxruntime', 'PySide6'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
