"""The text of a PDF: from standard input to standard output, in a process of its own.

What people send may be made to hang a reader or to fill the memory: the kernel ends this process before.
"""

from __future__ import annotations

import io
import logging
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

CPU_S = 8
MEMORY_BYTES = 384 * 1024 * 1024
NICE = 10
OOM_SCORE_ADJ = 1000
"""Where memory runs out, the kernel ends this process before any other (proc_pid_oom_score_adj(5))."""
MOST_CHARS = 200_000
"""More is not read."""


def main() -> int:
    """0: the text was written; 1: nothing could be read."""
    _step_back()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    logging.disable()
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    read = 0
    try:
        for page in PdfReader(io.BytesIO(sys.stdin.buffer.read())).pages:
            text = page.extract_text()[: MOST_CHARS - read]
            sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
            read += len(text)
            if read >= MOST_CHARS:
                break
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError, OSError):
        return 0 if read else 1  # what was read before the fault is better than nothing
    return 0


def _step_back() -> None:
    """Let everything else go first; a sandbox that forbids that has limits of its own."""
    with suppress(OSError):
        os.nice(NICE)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE_ADJ))


if __name__ == "__main__":
    sys.exit(main())
