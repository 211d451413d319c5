"""Which device and dtype a model runs on."""

from __future__ import annotations

import torch

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def available() -> tuple[str, ...]:
    """Devices of this machine, the fastest first: CUDA, then MPS, then the CPU."""
    found = []
    if torch.cuda.is_available():
        found += [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        found.append("mps")
    return (*found, "cpu")


def pick(device: str, dtype: str) -> tuple[torch.device, torch.dtype]:
    """The device and dtype that a request means; "auto" is the fastest device there is.

    Raises
    ------
    ValueError
        for a device that is not there, or half precision anywhere but on CUDA.
    """
    there = available()
    name = there[0] if device == "auto" else device
    if name == "cuda" and there[0].startswith("cuda"):
        name = there[0]
    if name not in there:
        raise ValueError(f"There is no device {device!r} here; choose one of {', '.join(there)}.")
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}, but must be one of {', '.join(DTYPES)}.")
    if dtype != "float32" and not name.startswith("cuda"):
        raise ValueError(f"dtype is {dtype}, but {name} runs in float32 only; half needs CUDA.")
    return torch.device(name), DTYPES[dtype]
