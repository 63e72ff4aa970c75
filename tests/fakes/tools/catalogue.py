"""The tools: what they are called, what they promise, what they do. Each runs in a thread of its own."""

import json
import os
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from tests.fakes.tools.recorder import JsonObject, JsonValue

LOOK_S = 0.02
LONG_NAME = "look_up_when_the_public_library_of_the_next_town_opens_today"  # 60 characters
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="  # 1 x 1, PNG
WEATHER: JsonObject = {"town": "Delft", "degrees": 17, "windy": True}


class BadArguments(Exception):
    """The model is told, so that it can correct itself."""


class CallCancelled(Exception):
    """The client takes no answer any more."""


class Desk(Protocol):
    """What a tool may use of the session that it is called in."""

    def counted(self) -> int:
        """How often this was asked in this session, this time included."""

    def deleted(self, what: str) -> None: ...

    def crash(self) -> None:
        """Ends the server without an answer; over HTTP it forgets its sessions and cuts its connections."""

    @property
    def file(self) -> str | None:
        """Where `append_line` writes if it is given no path."""


class Call:
    """One run of a tool. `cancelled` is set from another thread."""

    def __init__(self, name: str, number: JsonValue, arguments: JsonObject, desk: Desk) -> None:
        self.tool = name
        self.id = number
        self.arguments = arguments
        self.desk = desk
        self.cancelled = threading.Event()

    def text(self, name: str) -> str:
        value = self.arguments.get(name)
        if not isinstance(value, str):
            raise BadArguments(f"{name} is a text")
        return value

    def number(self, name: str) -> int:
        value = self.arguments.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise BadArguments(f"{name} is a whole number")
        return value

    def wait(self, seconds: float) -> None:
        if self.cancelled.wait(seconds):
            raise CallCancelled


class Tool(NamedTuple):
    name: str
    description: str
    run: Callable[[Call], JsonObject]
    parameters: dict[str, str]
    """Their JSON types; one that ends in "?" may be left out."""
    annotations: JsonObject | None = None
    output: JsonObject | None = None

    @property
    def listed(self) -> JsonObject:
        """As in `tools/list`."""
        properties: JsonObject = {name: {"type": kind.rstrip("?")} for name, kind in self.parameters.items()}
        required: list[JsonValue] = [name for name, kind in self.parameters.items() if not kind.endswith("?")]
        schema: JsonObject = {"type": "object", "properties": properties, "required": required}
        entry: JsonObject = {"name": self.name, "description": self.description, "inputSchema": schema}
        if self.annotations is not None:
            entry["annotations"] = self.annotations
        if self.output is not None:
            entry["outputSchema"] = self.output
        return entry


def said(text: str, *, is_error: bool = False) -> JsonObject:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def append_line(call: Call) -> JsonObject:
    path = call.text("path") if "path" in call.arguments else call.desk.file
    if path is None:
        raise BadArguments("path is needed: the server was started without --file")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, f"{call.text('line')}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return said("appended")


def list_files(call: Call) -> JsonObject:
    return said("\n".join(sorted(os.listdir(call.text("folder")))))


def slow(call: Call) -> JsonObject:
    gate = call.text("gate_file")
    while not os.path.exists(gate):
        call.wait(LOOK_S)
    return said("the gate is open")


def late(call: Call) -> JsonObject:
    call.wait(call.number("ms") / 1000)
    return said("late")


def crash(call: Call) -> JsonObject:
    call.desk.crash()
    raise CallCancelled


def delete_everything(call: Call) -> JsonObject:
    call.desk.deleted(call.text("what"))
    return said("deleted")


def picture(call: Call) -> JsonObject:
    return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}], "isError": False}


def structured(call: Call) -> JsonObject:
    return {"content": [{"type": "text", "text": json.dumps(WEATHER)}], "structuredContent": WEATHER, "isError": False}


def misreport(call: Call) -> JsonObject:
    return said("{}") | {"structuredContent": {"town": 5}}


READS: JsonObject = {"readOnlyHint": True}
ADDS: JsonObject = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False}
DESTROYS: JsonObject = {"readOnlyHint": False, "destructiveHint": True}
TEXT, NUMBER = "string", "integer"
WEATHER_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"town": {"type": TEXT}, "degrees": {"type": NUMBER}, "windy": {"type": "boolean"}},
    "required": ["town", "degrees"],
}

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("append_line", "Append a line to a file", append_line, {"line": TEXT, "path": TEXT + "?"}, ADDS),
        Tool("read_note", "Read a note", lambda call: said(f"note {call.text('name')}"), {"name": TEXT}, READS),
        Tool("echo", "Say it again", lambda call: said(call.text("text")), {"text": TEXT}, READS),
        Tool("list-files", "Names in a folder", list_files, {"folder": TEXT}, READS),
        Tool("big", "Much text", lambda call: said("x" * call.number("chars")), {"chars": NUMBER}, READS),
        Tool("slow", "Wait until a file is there", slow, {"gate_file": TEXT}, READS),
        Tool("late", "Answer after a while", late, {"ms": NUMBER}, READS),
        Tool("fail", "Fail", lambda call: said(call.text("message"), is_error=True), {"message": TEXT}),
        Tool("crash", "End the server", crash, {}),
        Tool("environment", "Names of variables", lambda call: said(json.dumps(sorted(os.environ))), {}, READS),
        Tool("count", "How often this was asked", lambda call: said(str(call.desk.counted())), {}),
        Tool("delete_everything", "Delete", delete_everything, {"what": TEXT}, DESTROYS),
        Tool("picture", "A picture", picture, {}, READS),
        Tool("structured", "The weather", structured, {}, READS, WEATHER_SCHEMA),
        Tool("misreport", "Not what its schema says", misreport, {}, READS, WEATHER_SCHEMA),
        Tool(LONG_NAME, "Opening hours", lambda call: said("ten to six"), {}, READS),
    )
}
