"""Tools of servers: write-ahead, scope, bounds, consent, death and restart."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.agents.tool_names import full_name
from core.vocabulary import ClientTool
from tests.fakes.models.replies import Call, Gate, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.fakes.tools.catalogue import LONG_NAME
from tests.fakes.tools.front import HttpToolServer
from tests.fakes.tools.journal import Called, Cancelled, Deleted, Exited, Journal, Started, command_line
from tests.flow.house import House
from tests.models.conftest import ModelHouse


def over_stdio(journal: Journal, *options: str, **settings: object) -> dict[str, object]:
    return {"name": "t", "command": command_line(journal.path, *options), **settings}


async def up(house: House, state: str = "up") -> None:
    """Every tool server is in this state."""
    await house.until(lambda: [server.state for server in house.core.agents.tool_servers()] == [state])


async def use(house: House, server: ModelServer, tool: str, /, **arguments: object) -> str:
    """Let the model call a tool; what it was told."""
    server.forget_rules()
    server.on("use", Steps(Call(tool, json.loads(json.dumps(arguments))), Say("used")))
    await house.ask(f"use {tool}")
    return server.requests[-1].tool_results[-1]


async def test_a_tool_s_call_and_result_are_entries_and_the_model_sees_the_result(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    assert await use(house, server, "t_echo", text="hello") == "hello"
    assert [kind for kind, _ in await house.told()] == ["user", "tool_call", "tool_result", "assistant"]
    call, result = (await house.log())[1:3]
    assert (call.text, call.data["arguments"], call.data["read_only"]) == ("t_echo", '{"text":"hello"}', False)
    assert (result.text, result.data["failed"]) == ("hello", False)
    assert house.seen() == ["used"]


async def test_over_http_with_headers(furnish: ModelHouse, server: ModelServer, journal: Journal) -> None:
    with HttpToolServer(journal=journal.path, authorization="Bearer s3cret-token") as tools:
        headers = {"Authorization": "Bearer s3cret-token"}
        house = await furnish(mcp=[{"name": "t", "url": tools.url, "headers": headers}])
        assert await use(house, server, "t_echo", text="hello") == "hello"


async def test_only_what_is_allowed_and_not_denied_is_offered(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal, allow=["read_*", "e*"], deny=["env*"])])
    await house.ask("hello")
    assert set(server.requests[-1].tools) == {"t_echo", "t_read_note", "current_time", "search_conversations"}


async def test_read_only_is_what_the_config_says(furnish: ModelHouse, server: ModelServer, journal: Journal) -> None:
    house = await furnish(mcp=[over_stdio(journal, read_only=["ec*"])])
    await use(house, server, "t_echo", text="x")
    await use(house, server, "t_read_note", name="x")
    marks = {entry.text: entry.data["read_only"] for entry in await house.log() if entry.kind == "tool_call"}
    assert marks == {"t_echo": True, "t_read_note": False}


async def test_long_and_unfit_names_are_made_to_fit() -> None:
    assert full_name("t", "list-files") == "t_list-files"
    assert full_name("my.server", "a/b c") == "my_server_a_b_c"
    long = full_name("server", LONG_NAME)
    assert len(long) == 64
    assert long != full_name("server", LONG_NAME + "x")


async def test_a_long_result_is_cut_and_the_model_is_told(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal)], limits={"tool_output_chars": 100})
    told = await use(house, server, "t_big", chars=5000)
    assert told.endswith("[Cut: these are the first 100 of 5000 characters.]")
    assert len(told) < 200


async def test_a_tool_that_fails_is_told_to_the_model_and_the_turn_goes_on(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    for _ in range(8):
        assert "no such luck" in await use(house, server, "t_fail", message="no such luck")
    assert house.seen()[-1] == "used"


async def test_a_tool_that_takes_too_long_is_cancelled_and_told(
    furnish: ModelHouse, server: ModelServer, journal: Journal, tmp_path: Path
) -> None:
    house = await furnish(mcp=[over_stdio(journal)], limits={"tool_s": 0.2})
    assert "within 0.2 s" in await use(house, server, "t_slow", gate_file=str(tmp_path / "never"))
    await journal.until(lambda now: bool(now.of(Cancelled)))


async def test_a_server_that_dies_in_a_call_is_told_started_again_and_used_again(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    told = await use(house, server, "t_crash")
    assert "not known" in told
    await journal.until(lambda now: len(now.of(Started)) == 2)
    await up(house)
    assert await use(house, server, "t_echo", text="again") == "again"
    assert journal.calls("crash") == journal.calls("crash")[:1]


async def test_a_server_that_dies_between_turns_is_started_again(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    await use(house, server, "t_echo", text="x")
    os.kill(journal.of(Started)[0].pid, signal.SIGKILL)
    await journal.until(lambda now: len(now.of(Started)) == 2)
    await up(house)
    assert await use(house, server, "t_echo", text="again") == "again"


async def test_a_server_that_can_not_start_is_in_status_and_the_agent_answers_without_it(
    furnish: ModelHouse, server: ModelServer
) -> None:
    house = await furnish(mcp=[{"name": "gone", "command": ["/no/such/program"]}])
    await house.ask("hello")
    assert house.seen() == ["re: hello"]
    [status] = house.core.agents.tool_servers()
    assert (status.name, status.state) == ("gone", "failed")
    assert "No such file" in status.detail


async def test_a_tool_server_inherits_nothing_that_is_not_listed(
    furnish: ModelHouse, server: ModelServer, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-tools")
    monkeypatch.setenv("SOMETHING_ELSE", "private")
    house = await furnish(mcp=[over_stdio(journal, env={"GIVEN": "yes"})])
    names = set(json.loads(await use(house, server, "t_environment")))
    assert "GIVEN" in names
    assert not names & {"OPENAI_API_KEY", "SOMETHING_ELSE", "FRONTDESK_TEST_POSTGRES"}


async def test_sessions_share_a_server_unless_each_has_its_own(
    furnish: ModelHouse, server: ModelServer, journal: Journal, tmp_path: Path
) -> None:
    own = Journal(tmp_path / "own")
    mcp = [over_stdio(journal), {**over_stdio(own, per_session=True), "name": "own"}]
    house = await furnish(mcp=mcp)
    assert await use(house, server, "t_count") == "1"
    assert await use(house, server, "own_count") == "1"
    await house.say("/reset")
    assert await use(house, server, "t_count") == "2"
    assert await use(house, server, "own_count") == "1"
    assert len(journal.of(Started)) == 1
    assert len(own.of(Started)) == 2


async def test_the_servers_end_with_the_process(furnish: ModelHouse, server: ModelServer, journal: Journal) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    await use(house, server, "t_echo", text="x")
    await house.die()
    assert len(journal.of(Exited)) == 1
    await house.open()


async def test_a_stop_during_a_call_cancels_it_at_the_server(
    furnish: ModelHouse, server: ModelServer, journal: Journal, tmp_path: Path
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    server.on("use", Steps(Call("t_slow", {"gate_file": str(tmp_path / "never")}), Say("used")))
    said = await house.offer(house.message("use it"))
    await journal.until(lambda now: bool(now.of(Called)))
    await house.offer(house.message("/stop"))
    await house.ended(said)
    await journal.until(lambda now: bool(now.of(Cancelled)))
    assert [kind for kind, _ in await house.told()][:3] == ["user", "tool_call", "tool_result"]
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


async def test_calls_of_one_response_are_all_stored_before_any_starts(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    server.on("use", Steps((Call("t_echo", {"text": "a"}), Call("t_echo", {"text": "b"})), Say("used")))
    await house.ask("use both")
    kinds = [kind for kind, _ in await house.told()]
    assert kinds == ["user", "tool_call", "tool_call", "tool_result", "tool_result", "assistant"]
    assert sorted(server.requests[-1].tool_results) == ["a", "b"]


async def test_a_call_that_needs_consent_waits_and_is_made_once_it_is_allowed(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal, consent=["delete_*"])])
    calls = (Call("t_delete_everything", {"what": "mail"}), Call("t_echo", {"text": "side"}))
    server.on("tidy", Steps((Say("I will tidy."), *calls), Say("tidied")))
    await house.ask("tidy up")
    assert journal.of(Deleted) == ()
    assert [one.tool for one in journal.of(Called)] == ["echo"]
    text, question = house.seen()
    assert text == "I will tidy."
    assert '"what": "mail"' in question
    approve = await house.ask("/approve")
    assert await house.fate(approve) == "answered"
    await house.until(lambda: house.seen()[-1] == "tidied")
    assert [deleted.what for deleted in journal.of(Deleted)] == ["mail"]
    assert "side" in server.requests[-1].tool_results
    await house.ask("/approve")
    await house.ask("thanks")
    assert len(journal.of(Deleted)) == 1
    assert house.seen()[-1] == "re: thanks"


async def test_a_denied_call_is_not_made_and_the_model_is_told(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal, consent=["delete_*"])])
    server.on("tidy", Steps(Call("t_delete_everything", {"what": "mail"}), Say("all right, not")))
    asked = await house.offer(house.message("tidy up"))
    await house.ended(asked)
    await house.ask("/deny")
    await house.until(lambda: house.seen()[-1] == "all right, not")
    assert journal.of(Deleted) == ()
    assert server.requests[-1].tool_results[-1].count("Denied: the person") == 1


async def test_another_message_closes_the_question_and_the_history_is_accepted(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal, consent=["delete_*"])])
    server.on("tidy", Call("t_delete_everything", {"what": "mail"}))
    await house.ask("tidy up")
    await house.ask("never mind")
    assert house.seen()[-1] == "re: never mind"
    assert journal.of(Deleted) == ()


async def test_a_suspended_turn_goes_on_after_a_restart(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal, consent=["delete_*"])])
    server.on("tidy", Steps(Call("t_delete_everything", {"what": "mail"}), Say("tidied")))
    await house.ask("tidy up")
    await house.restart()
    await house.ask("/approve")
    await house.until(lambda: house.seen()[-1] == "tidied")
    assert [deleted.what for deleted in journal.of(Deleted)] == ["mail"]


async def test_c02_a_call_whose_process_died_gets_a_result_and_the_next_turn_works(
    furnish: ModelHouse, server: ModelServer, journal: Journal, tmp_path: Path
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    server.on("use", Steps(Call("t_slow", {"gate_file": str(tmp_path / "never")}), Say("used")))
    said = await house.offer(house.message("use it"))
    await journal.until(lambda now: bool(now.of(Called)))
    await house.restart()
    assert await house.fate(said) == "answered"
    results = [text for kind, text in await house.told() if kind == "tool_result"]
    assert len(results) == 1
    assert results[0].startswith("Interrupted")
    await house.ask("next")
    assert house.seen()[-1] == "re: next"


async def test_steering_reaches_the_turn_behind_the_tool_s_result(
    furnish: ModelHouse, server: ModelServer, journal: Journal, tmp_path: Path
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    gate = tmp_path / "gate"
    server.on("use", Steps(Call("t_slow", {"gate_file": str(gate)}), Say("used")))
    server.on("be quick", Say("quick it is"))
    said = await house.offer(house.message("use it"))
    await journal.until(lambda now: bool(now.of(Called)))
    steer = await house.offer(house.message("/steer be quick"))
    await house.idle()
    gate.touch()
    await house.ended(said)
    assert house.seen() == ["quick it is"]
    assert await house.fate(steer) == "merged"
    roles = [role for role, _ in server.requests[-1].talk if role != "system"]
    assert roles == ["user", "assistant", "tool", "user"]


async def test_the_desk_s_tools_are_the_asker_s_own(house: House, server: ModelServer) -> None:
    await house.ask("the secret plan", user="8", chat="8")
    await house.ask("my own plan")
    told = await use(house, server, "search_conversations", words="plan")
    assert "my own plan" in told
    assert "secret" not in told
    assert "2026" in await use(house, server, "current_time")


async def test_words_of_a_gate_reach_people_before_the_tool_runs(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    server.on("use", Steps((Say("Let me look."), Gate("call"), Call("t_echo", {"text": "x"})), Say(" Done.")))
    said = await house.offer(house.message("use it"))
    await server.until(lambda: server.in_flight == 1)
    server.gate("call").set()
    await house.ended(said)
    assert [text for kind, text in await house.told() if kind == "assistant"] == ["Let me look.", " Done."]
    assert house.seen() == ["Let me look.\n\nDone."]


async def test_a_picture_is_kept_beside_the_database_and_shown_again(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    server.on("use", Steps(Call("t_picture"), Say("used")))
    await house.ask("use t_picture")
    before = server.requests[-1].body["messages"]
    assert "data:image/png;base64," in json.dumps(before)
    [result] = [entry for entry in await house.log() if entry.kind == "tool_result"]
    assert "base64" not in json.dumps(result.data, default=str)
    assert len(json.dumps(result.data, default=str)) < 1000
    await house.restart()
    await house.ask("again")
    after = server.requests[-1].body["messages"]
    assert isinstance(before, list)
    assert isinstance(after, list)
    assert after[: len(before)] == before
    for path in (house.state / "files").glob("??/*"):
        os.utime(path, (0, 0))
    await house.chores.files()
    await house.ask("still there")
    assert "data:image/png;base64," in json.dumps(server.requests[-1].body)


async def test_a_client_s_tool_is_offered_for_its_message_and_its_call_waits_for_the_client(
    house: House, server: ModelServer
) -> None:
    schema = '{"type": "object", "properties": {"town": {"type": "string"}}}'
    tool = ClientTool(name="weather", description="The weather in a town", schema=schema)
    server.on("rain", Call("weather", {"town": "Delft"}))
    said = await house.offer(replace(house.message("will it rain?"), tools=(tool,)))
    await house.ended(said)
    assert "weather" in server.requests[-1].tools
    assert [(entry.kind, entry.text) for entry in await house.log()][1:] == [("tool_call", "weather")]
    assert house.seen() == []
    assert await house.fate(said) is None
    await house.ask("never mind")
    assert "weather" not in server.requests[-1].tools
    assert house.seen() == ["re: never mind"]
    assert await house.fate(said) == "answered"
