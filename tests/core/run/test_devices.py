from __future__ import annotations

import pytest
import torch

from core.run.devices import available, pick


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.fixture
def apple(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_is_the_first_choice_and_runs_in_half() -> None:
    assert available() == ("cuda:0", "cuda:1", "cpu")
    assert pick("auto", "float16") == (torch.device("cuda:0"), torch.float16)
    assert pick("cuda", "bfloat16") == (torch.device("cuda:0"), torch.bfloat16)
    assert pick("cuda:1", "float32") == (torch.device("cuda:1"), torch.float32)
    assert pick("cpu", "float32") == (torch.device("cpu"), torch.float32)
    with pytest.raises(ValueError, match="'cuda:2' here; choose one of cuda:0, cuda:1, cpu"):
        pick("cuda:2", "float32")


@pytest.mark.usefixtures("apple")
def test_apple_silicon_runs_in_full_precision() -> None:
    assert pick("auto", "float32") == (torch.device("mps"), torch.float32)
    with pytest.raises(ValueError, match="mps runs in float32 only"):
        pick("auto", "float16")


@pytest.mark.usefixtures("bare")
def test_without_a_gpu_auto_is_the_cpu() -> None:
    assert pick("auto", "float32") == (torch.device("cpu"), torch.float32)
    with pytest.raises(ValueError, match="no device 'cuda' here; choose one of cpu"):
        pick("cuda", "float32")
