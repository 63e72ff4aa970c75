"""One client's session: what each JSON-RPC message is answered. No input or output of its own; both transports use it.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle and .../server/tools
"""

import threading

from tests.fakes.tools.catalogue import TOOLS, BadArguments, Call, CallCancelled, said
from tests.fakes.tools.recorder import JsonObject, JsonValue, Recorder

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
INSTRUCTIONS = "Prefer read_note."
METHOD_NOT_FOUND, INVALID_REQUEST, INVALID_PARAMS, PARSE_ERROR = -32601, -32600, -32602, -32700
MOST_JOURNALLED = 200


class Crashed(BaseException):
    """The tool `crash` was called: nothing is answered any more."""


class Refused(Exception):
    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class Session:
    """`answer` may be called from several threads at once."""

    def __init__(self, recorder: Recorder, *, name: str = "", file: str | None = None) -> None:
        self.name = name
        self.file = file
        self._recorder = recorder
        self._count = 0
        self._is_open = False
        self._running: dict[JsonValue, Call] = {}
        self._lock = threading.Lock()

    # what a tool may use

    def counted(self) -> int:
        with self._lock:
            self._count += 1
            return self._count

    def deleted(self, what: str) -> None:
        self._recorder.write("deleted", {"what": what})

    def crash(self) -> None:
        raise Crashed

    # messages

    def answer(self, message: JsonValue) -> JsonObject | None:
        """The answer to anything but a `tools/call` that `begin` took; none to notifications and answers."""
        number = message.get("id") if isinstance(message, dict) else None
        try:
            method, params = _read(message)
            if number is None:
                self._note(method, params)
                return None
            return {"jsonrpc": "2.0", "id": number, "result": self._result(method, params)}
        except Refused as refused:
            return {"jsonrpc": "2.0", "id": number, "error": {"code": refused.code, "message": str(refused)}}

    def begin(self, message: JsonValue) -> Call | None:
        """The call that a message asks for, to be given to `run`; None if `answer` takes the message.

        Apart from `run`, so that a transport reads the cancellation of a call only after the call itself.
        """
        if not isinstance(message, dict) or message.get("method") != "tools/call" or not self._is_open:
            return None
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        if not isinstance(params, dict) or not isinstance(name, str) or name not in TOOLS or "id" not in message:
            return None
        arguments = params.get("arguments")
        call = Call(name, message["id"], arguments if isinstance(arguments, dict) else {}, self)
        with self._lock:
            self._running[call.id] = call
        self._record("called", call, {"arguments": call.arguments})
        return call

    def run(self, call: Call) -> JsonObject | None:
        """The answer; none if the call was cancelled. Blocks while the tool runs. `Crashed` as the tool's name says."""
        try:
            result = TOOLS[call.tool].run(call)
        except BadArguments as error:
            result = said(f"Bad arguments: {error}", is_error=True)
        except OSError as error:
            result = said(f"{error.strerror}: {error.filename}", is_error=True)
        except CallCancelled:
            return None
        finally:
            with self._lock:
                self._running.pop(call.id, None)
        self._record("answered", call, {"text": _first_text(result), "is_error": bool(result["isError"])})
        return {"jsonrpc": "2.0", "id": call.id, "result": result}

    def end(self) -> None:
        """The connection is gone: running calls stop. They are not recorded as cancelled."""
        with self._lock:
            for call in self._running.values():
                call.cancelled.set()

    def _note(self, method: str, params: JsonObject) -> None:
        if method != "notifications/cancelled":
            return
        with self._lock:
            call = self._running.get(params.get("requestId"))
        if call is not None:
            self._record("cancelled", call, {"reason": str(params.get("reason", ""))})
            call.cancelled.set()

    def _result(self, method: str, params: JsonObject) -> JsonObject:
        match method:
            case "ping":
                return {}
            case "initialize":
                return self._initialized(params)
            case "tools/list" | "tools/call" if not self._is_open:
                raise Refused(INVALID_REQUEST, "The session is not initialized")
            case "tools/list" if params.get("cursor") is not None:
                raise Refused(INVALID_PARAMS, "Unknown cursor")
            case "tools/list":
                return {"tools": [tool.listed for tool in TOOLS.values()]}
            case "tools/call":
                raise Refused(INVALID_PARAMS, f"Unknown tool: {params.get('name')}")
        raise Refused(METHOD_NOT_FOUND, f"Unknown method: {method}")

    def _initialized(self, params: JsonObject) -> JsonObject:
        wanted, client = params.get("protocolVersion"), params.get("clientInfo")
        if not isinstance(wanted, str) or not isinstance(client, dict) or "capabilities" not in params:
            raise Refused(INVALID_PARAMS, "protocolVersion, capabilities and clientInfo are needed")
        version = wanted if wanted in VERSIONS else VERSIONS[-1]
        self._is_open = True
        client_name = str(client.get("name"))
        self._recorder.write("opened", {"session": self.name, "version": version, "client": client_name})
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "tools-double", "version": "1"},
            "instructions": INSTRUCTIONS,
        }

    def _record(self, kind: str, call: Call, facts: JsonObject) -> None:
        self._recorder.write(kind, {"session": self.name, "call": str(call.id), "tool": call.tool, **facts})


def _read(message: JsonValue) -> tuple[str, JsonObject]:
    """Method and parameters. An answer, which nobody here asked for, reads as a notification without a name."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, "Not a JSON-RPC 2.0 message; batches are gone since 2025-06-18")
    if "method" not in message and ("result" in message or "error" in message):
        message = {"method": ""}
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict):
        raise Refused(INVALID_REQUEST, "method is a text and params is an object")
    return method, params


def _first_text(result: JsonObject) -> str:
    content = result["content"]
    first = content[0] if isinstance(content, list) and content else None
    return str(first.get("text", ""))[:MOST_JOURNALLED] if isinstance(first, dict) else ""
