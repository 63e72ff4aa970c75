"""The double in a thread and as a process of its own, for clients elsewhere."""

import subprocess
import sys
import threading

import openai as sdk
import pytest

from tests.fakes.models import Gate, Paced, Say, ThreadedModelServer


def ask(server: ThreadedModelServer, text: str) -> str | None:
    with sdk.OpenAI(api_key=server.key, base_url=server.openai_url, max_retries=0) as client:
        answer = client.chat.completions.create(model="x", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content


def test_a_threaded_server_is_controlled_from_the_test() -> None:
    with ThreadedModelServer() as server:
        server.on("wait", Gate("door"), Say("done"))
        heard: list[str | None] = []
        asking = threading.Thread(target=lambda: heard.append(ask(server, "wait")))
        asking.start()
        server.until(lambda: server.gate("door").waiting == 1)
        server.gate("door").set()
        asking.join()
        assert heard == ["done"]
        server.until(lambda: server.in_flight == 0)
        with pytest.raises(TimeoutError):
            server.until(lambda: False, timeout_s=0.01)
        server.pause()
        with pytest.raises(sdk.APIConnectionError):
            ask(server, "hello")
        server.resume()
        assert ask(server, "hello") == "re: hello"
        assert [request.outcome for request in server.requests] == ["answered", "answered"]


def test_a_threaded_server_stops_with_a_stream_open() -> None:
    with ThreadedModelServer() as server:
        server.on("long", Paced(per_s=10, tokens=1000))
        failures: list[Exception] = []

        def fail() -> None:
            try:
                ask(server, "long")
            except sdk.APIConnectionError as failure:
                failures.append(failure)

        asking = threading.Thread(target=fail)
        asking.start()
        server.until(lambda: server.in_flight == 1)
    asking.join()
    assert len(failures) == 1
    assert server.requests[0].outcome == "cut"


def test_the_double_runs_as_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "tests.fakes.models", "--port", "0", "--per-s", "1000", "--tokens", "4"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url, key = process.stdout.readline().strip(), process.stdout.readline().strip()
        with sdk.OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0) as client:
            answer = client.chat.completions.create(model="x", messages=[{"role": "user", "content": "hello"}])
        assert answer.choices[0].message.content == "The quick brown fox "
        process.communicate()
    assert process.returncode == 0
