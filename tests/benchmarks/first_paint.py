"""Seconds from the start of the process to the painted mask, beside starting Python with numpy.

Run ``python -m tests.benchmarks.first_paint``; prints JSON with the best of a few starts of each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

PAINT = """
from PySide6.QtWidgets import QApplication
from app.gui import Session
from core.types import Family
application = QApplication([])
application.setStyle("Fusion")
session = Session(Family.PREFIX, "light")
session.window.show()
application.processEvents()
"""


def best(code: str, starts: int = 5) -> float:
    """Best wall time of a few fresh processes that run ``code``."""
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    times = []
    for _ in range(starts):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=environment, stderr=-3)
        times.append(time.perf_counter() - started)
    return min(times)


if __name__ == "__main__":
    paint, bare = best(PAINT), best("import numpy")
    figures = {"first_paint_s": round(paint, 2), "numpy_s": round(bare, 2)}
    print(json.dumps(figures | {"ratio": round(paint / bare, 1)}))
