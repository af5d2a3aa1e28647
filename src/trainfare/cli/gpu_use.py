"""GPU use of this machine as `nvidia-smi` reports it, sampled in a thread. Without it, nothing is known."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable

SAMPLE_SECONDS = 5.0
REPORT_SECONDS = 30.0
_QUERY = ("--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")


class GpuUse:
    """Samples the utilization, and reports busy seconds summed over the GPUs, with the seconds they were measured in.

    Seconds of a sample that failed count as not measured, never as idle.
    """

    def __init__(self, report: Callable[[float, float], None], sample_seconds: float = SAMPLE_SECONDS) -> None:
        self._report, self._sample_seconds = report, sample_seconds
        self._program = shutil.which("nvidia-smi")
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        if self._program:
            self._thread.start()

    def stop(self) -> None:
        """Report what was measured since the last report."""
        self._stopped.set()
        if self._program:
            self._thread.join(2 * self._sample_seconds)

    def _run(self) -> None:
        busy, measured, last = 0.0, 0.0, time.monotonic()
        is_over = False
        while not is_over:
            is_over = self._stopped.wait(self._sample_seconds)
            percent, now = self._sample(), time.monotonic()
            if percent is None and measured == 0:
                last = now
                continue
            if percent is not None:
                busy, measured = busy + percent / 100 * (now - last), measured + now - last
            last = now
            if measured and (is_over or percent is None or measured >= REPORT_SECONDS):
                self._report(busy, measured)
                busy, measured = 0.0, 0.0

    def _sample(self) -> int | None:
        """Return the sum of the utilization of the visible GPUs in percent; None if it cannot be read."""
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        chosen = ["-i", visible] if visible else []
        try:
            ran = subprocess.run(
                [self._program or "", *chosen, *_QUERY], capture_output=True, text=True, timeout=10, check=True
            )
            return sum(int(line) for line in ran.stdout.split())
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
