"""Writing the journal: one JSON line for each thing that happens, with the process that it happened in."""

import json
import os
import threading
import time

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
JsonObject = dict[str, JsonValue]


class Recorder:
    """Several processes may append to one file: a line is one `write`, and it is there when the process is killed."""

    def __init__(self, path: str | None) -> None:
        self._lock = threading.RLock()  # SIGTERM may come while its own thread writes
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, kind: str, facts: JsonObject) -> None:
        """`kind` and `facts` are those of a class in `journal`."""
        line = json.dumps({"kind": kind, "pid": os.getpid(), "at": time.time(), **facts}) + "\n"
        with self._lock:
            if self._file is not None:
                os.write(self._file, line.encode())

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None
