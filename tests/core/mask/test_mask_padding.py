"""Real tokens, positions and labels."""

from __future__ import annotations

import numpy as np
import pytest

from core.mask.padding import last_real, position_ids, real_tokens, shifted_labels
from core.types import MaskKind, MaskSpec

BATCH = MaskSpec(MaskKind.CAUSAL, 5, left_pad=(2, 0, 1), right_pad=(0, 2, 1))


def test_real_tokens():
    assert real_tokens(BATCH).astype(int).tolist() == [
        [0, 0, 1, 1, 1],
        [1, 1, 1, 0, 0],
        [0, 1, 1, 1, 0],
    ]


def test_positions_are_those_of_the_row_alone():
    assert position_ids(BATCH).tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, 2, 2], [0, 0, 1, 2, 2]]
    assert position_ids(BATCH).dtype == np.int64


def test_positions_go_on_from_the_cache():
    chunk = MaskSpec(MaskKind.CAUSAL, 2, past=3, left_pad=(1,))
    assert position_ids(chunk)[0, chunk.past :].tolist() == [2, 3]


def test_positions_start_anew_in_each_document_of_a_padded_batch():
    spec = MaskSpec(MaskKind.CAUSAL, 7, left_pad=(1, 3), right_pad=(0, 1), documents=(2, 3, 1))
    assert position_ids(spec).tolist() == [[0, 0, 1, 0, 1, 2, 0], [0, 0, 0, 0, 1, 0, 0]]


def test_unfilled_slots_have_no_position():
    spec = MaskSpec(MaskKind.CAUSAL, 3, capacity=8)
    assert position_ids(spec).shape == real_tokens(spec).shape == (1, 3)


def test_last_real_token():
    assert last_real(BATCH).tolist() == [4, 2, 3]


def test_labels_are_shifted_by_one_and_eos_is_learned():
    bos, a, b, eos, pad = 1, 11, 12, 2, 0
    ids = np.array([[bos, a, b, eos, pad], [pad, bos, a, b, eos]])
    labels = shifted_labels(ids, ids != pad)
    assert labels.tolist() == [[a, b, eos, -100, -100], [-100, a, b, eos, -100]]
    assert labels.dtype == np.int64


def test_the_input_mask_is_not_the_loss_mask():
    ids = np.array([[1, 11, 12, 2, 0]])
    real = ids != 0
    learned = shifted_labels(ids, real, ignore=-1) != -1
    assert real.sum() == 4
    assert learned.sum() == 3


def test_labels_leave_the_ids_alone():
    ids = np.array([[5, 6, 7]])
    labels = shifted_labels(ids, np.ones((1, 3), bool))
    labels[0, 0] = 99
    assert ids.tolist() == [[5, 6, 7]]


def test_labels_need_a_mask_of_their_shape():
    with pytest.raises(ValueError, match=r"real has shape \(1, 2\), but must have that of ids"):
        shifted_labels(np.zeros((1, 3), int), np.ones((1, 2), bool))
