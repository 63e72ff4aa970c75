"""Voices: what people say is heard, and who asked by voice may be answered by voice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from core.desk.porter import LISTENERS, LISTENERS_EACH
from core.vocabulary import FileKind
from tests.fakes.speech import KEY, Fault, SpeechServer
from tests.flow.asking import verb
from tests.flow.conftest import Furnish
from tests.flow.files import FILING, FilingBot, attached, bot_of, bring, file, on_disk, voice
from tests.flow.house import House
from tests.flow.reloading import Reloaded
from tests.flow.test_consent import Paying

OGG = b"OggS" + bytes(1000)
FAILED, TIMEOUT = "could not make out", "took too long"


@pytest.fixture
async def server() -> AsyncIterator[SpeechServer]:
    async with SpeechServer() as made:
        yield made


def speech(server: SpeechServer, *, speaks: bool = False, key: str = KEY, **more: object) -> dict[str, object]:
    """The table of the config."""
    transcribe = {"base_url": server.url, "api_key": key, "timeout_s": 5, **more}
    speak = {"base_url": server.url, "api_key": key, "timeout_s": 5}
    return {"transcribe": transcribe, "speak": speak} if speaks else {"transcribe": transcribe}


async def opened(furnish: Furnish, server: SpeechServer, *, bot: FilingBot | None = None, **options: object) -> House:
    house = await furnish(bot or FilingBot(), speech=speech(server, **options))  # type: ignore[arg-type]
    bot_of(house).clock = house.clock
    bot_of(house).holds("v", OGG)
    return house


@pytest.fixture
async def hearing(furnish: Furnish, server: SpeechServer) -> House:
    return await opened(furnish, server)


@pytest.fixture
async def speaking(furnish: Furnish, server: SpeechServer) -> House:
    return await opened(furnish, server, speaks=True)


async def say_aloud(house: House, text: str = "", **how: object) -> None:
    said = await bring(house, text, voice(), **how)  # type: ignore[arg-type]
    await house.ended(said)


# heard


async def test_a_voice_becomes_words(hearing: House, server: SpeechServer) -> None:
    server.hears("  Buy milk, please.\n")
    await say_aloud(hearing)
    assert hearing.stage.texts == ["[voice] Buy milk, please."]
    [heard] = server.heard
    assert (heard.data, heard.media_type, heard.model) == (OGG, "audio/ogg", "gpt-4o-mini-transcribe")
    assert server.refusals == []
    assert await attached(hearing) == [("", len(OGG))]


@pytest.mark.parametrize(
    "media_type", ["audio/ogg", "audio/mpeg", "audio/mp4", "audio/ogg; codecs=opus", "audio/x-unheard-of", ""]
)
async def test_every_kind_of_sound_is_offered_by_a_name_that_tells_it(
    hearing: House, server: SpeechServer, media_type: str
) -> None:
    said = await bring(hearing, "", voice(media_type=media_type))
    await hearing.ended(said)
    assert server.refusals == []
    assert hearing.stage.texts == ["[voice] what was said"]


@pytest.mark.parametrize(
    "media_type",
    [
        "audio", "no type at all", "ä/ö",
        *(
            odd
            for odd in ("audio/ogg\r\nX-Evil: 1", "audio/\ud83d")
        ),
    ],
)  # fmt: skip
async def test_a_type_that_is_none_loses_no_message(hearing: House, server: SpeechServer, media_type: str) -> None:
    """Some platforms hand on what a sender's client says."""
    said = await bring(hearing, "listen", voice(media_type=media_type))
    await hearing.ended(said)
    assert len(hearing.stage.texts) == 1
    assert hearing.stage.texts[0] == "listen\n[voice] what was said" or FAILED in hearing.seen()[0]


async def test_words_and_voice_are_one_message(hearing: House) -> None:
    await say_aloud(hearing, "listen:")
    assert hearing.stage.texts == ["listen:\n[voice] what was said"]


async def test_sound_that_is_no_voice_is_not_heard(hearing: House, server: SpeechServer) -> None:
    await hearing.ended(await bring(hearing, "a song", file("v", FileKind.AUDIO, name="song.mp3")))
    assert server.heard == []
    assert hearing.stage.texts == ["a song\n[audio song.mp3]"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault.STATUS_500, Fault.STATUS_429, Fault.NO_JSON, Fault.HTML, Fault.NOT_UTF8, Fault.NO_TEXT,
        Fault.TEXT_IS_NO_TEXT, Fault.A_LIST, Fault.EMPTY, Fault.CUT, Fault.ENDLESS,
        Fault.DEEP_JSON,
    ],
    ids=lambda fault: str(fault.name),
)  # fmt: skip
async def test_an_endpoint_that_fails_is_told(hearing: House, server: SpeechServer, fault: Fault) -> None:
    server.fail(fault)
    said = await bring(hearing, "", voice())
    await hearing.ended(said)
    assert hearing.stage.texts == []
    assert FAILED in hearing.seen()[0]
    assert await hearing.fate(said) == "refused"
    await hearing.advance(10)
    await say_aloud(hearing)
    assert hearing.stage.texts == ["[voice] what was said"]


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.HANG_IN_BODY])
async def test_an_endpoint_that_hangs_is_told(furnish: Furnish, server: SpeechServer, fault: Fault) -> None:
    house = await opened(furnish, server, timeout_s=0.2)
    server.fail(fault)
    said = await bring(house, "", voice())
    await house.ended(said)
    assert TIMEOUT in house.seen()[0]
    assert house.stage.texts == []
    assert bot_of(house).typed == []


async def test_a_key_that_is_wrong_is_told(furnish: Furnish, server: SpeechServer) -> None:
    house = await opened(furnish, server, key="sk-another-key")
    await say_aloud(house)
    assert FAILED in house.seen()[0]


async def test_an_endpoint_that_is_not_there_is_told(furnish: Furnish) -> None:
    async with SpeechServer() as gone:
        pass
    house = await opened(furnish, gone)
    await say_aloud(house)
    assert FAILED in house.seen()[0]


@pytest.mark.parametrize("heard", ["", "  \n"])
async def test_silence_is_told(hearing: House, server: SpeechServer, heard: str) -> None:
    server.hears(heard)
    await say_aloud(hearing)
    assert "heard nothing" in hearing.seen()[0]
    assert hearing.stage.texts == []


async def test_what_was_heard_can_be_any_text(hearing: House, server: SpeechServer) -> None:
    server.hears("half \ud83d, nul \0, /stop")
    await say_aloud(hearing)
    assert hearing.stage.texts == ["[voice] half \ufffd, nul \ufffd, /stop"]


async def test_a_voice_that_says_a_command_is_a_message(hearing: House, server: SpeechServer) -> None:
    server.hears("/reset")
    await say_aloud(hearing)
    assert hearing.stage.texts == ["[voice] /reset"]


# a voice while something runs (C33)


@pytest.mark.parametrize("fault", [None, Fault.STATUS_500, Fault.HANG])
async def test_c33_a_voice_during_a_turn_waits_its_turn(
    furnish: Furnish, server: SpeechServer, fault: Fault | None
) -> None:
    house = await opened(furnish, server, timeout_s=0.3)
    if fault is not None:
        server.fail(fault)
    house.stage.on("long", house.stage.waits(before=("working",)))
    await house.say("long work")
    await house.advance(10)
    said = await house.offer(replace(house.message(""), attachments=(voice(),)))
    await house.until(lambda: len(server.heard) == 1)
    house.stage.gate().set()
    await house.ended(said)
    heard = ["[voice] what was said"] if fault is None else []
    assert house.stage.texts == ["long work", *heard]
    told = {None: "re: [voice]", Fault.STATUS_500: FAILED, Fault.HANG: TIMEOUT}[fault]
    assert told in house.seen()[-1]
    typed = len(bot_of(house).typed)
    await house.advance(60)
    assert len(bot_of(house).typed) == typed


async def test_c33_what_hangs_while_it_listens_stops_no_turn_and_no_command(
    hearing: House, server: SpeechServer
) -> None:
    server.fail(Fault.HANG)
    said = await hearing.offer(replace(hearing.message(""), attachments=(voice(),)))
    await hearing.until(lambda: server.waiting == 1)
    await hearing.say("hello", user="9")
    assert hearing.seen("9") == ["re: hello"]
    await hearing.say("/stop")
    assert await hearing.fate(said) == "closed"
    await hearing.until(lambda: server.waiting == 0)


async def test_voices_that_hang_hold_up_nobody_elses(hearing: House, server: SpeechServer) -> None:
    server.fail(*[Fault.HANG] * LISTENERS_EACH)
    await hearing.offer(replace(hearing.message(""), attachments=(voice(),) * (LISTENERS + 1)))
    await hearing.until(lambda: server.waiting == LISTENERS_EACH)
    await hearing.ended(await bring(hearing, "", voice(), user="9"))
    assert hearing.stage.texts == ["[voice] what was said"]
    assert len(server.heard) == LISTENERS_EACH + 1


async def test_a_process_that_dies_while_it_listens_listens_again(hearing: House, server: SpeechServer) -> None:
    server.fail(Fault.HANG)
    said = await hearing.offer(replace(hearing.message(""), attachments=(voice(),)))
    await hearing.until(lambda: server.waiting == 1)
    await hearing.restart(settle=False)
    await hearing.ended(said)
    assert hearing.stage.texts == ["[voice] what was said"]


async def test_another_endpoint_holds_from_the_next_voice_on(hearing: House, server: SpeechServer) -> None:
    await say_aloud(hearing)
    await Reloaded(hearing).to(speech={})
    await hearing.advance(10)
    await say_aloud(hearing)
    assert "can't listen" in hearing.seen()[-1]
    assert len(server.heard) == 1


# spoken


async def spoke(house: House) -> None:
    """What is being said aloud has been said."""
    for task in house.core.voices.moving():
        await task
    await house.idle()


async def test_who_asks_by_voice_is_answered_by_voice_after_the_words(speaking: House, server: SpeechServer) -> None:
    await say_aloud(speaking)
    await spoke(speaking)
    assert speaking.seen() == ["re: [voice] what was said", "<answer.ogg>"]
    [got] = bot_of(speaking).received
    assert (got.kinds, got.contents) == ((FileKind.VOICE,), (server.sound,))
    assert server.spoken[0].text == "re: [voice] what was said"
    assert ("answer.ogg", len(server.sound)) in await attached(speaking)


async def test_who_writes_is_answered_in_words_only(speaking: House, server: SpeechServer) -> None:
    await speaking.say("hello")
    await spoke(speaking)
    assert server.spoken == []


async def test_a_long_answer_is_not_spoken(furnish: Furnish, server: SpeechServer) -> None:
    house = await opened(furnish, server, speaks=True)
    server.hears("x" * 2000)
    await say_aloud(house)
    await spoke(house)
    assert server.spoken == []


async def test_a_bot_that_takes_no_files_speaks_not(furnish: Furnish, server: SpeechServer) -> None:
    house = await opened(
        furnish, server, speaks=True, bot=FilingBot(capabilities=replace(FILING, upload_limit_bytes=0))
    )
    await say_aloud(house)
    await spoke(house)
    assert server.spoken == []


@pytest.mark.parametrize("fault", [Fault.STATUS_500, Fault.EMPTY, Fault.CUT, Fault.ENDLESS])
async def test_a_voice_that_fails_takes_nothing_from_the_words(
    speaking: House, server: SpeechServer, fault: Fault
) -> None:
    said = await speaking.offer(replace(speaking.message(""), attachments=(voice(),)))
    await speaking.until(lambda: len(server.heard) == 1)
    server.fail(fault)
    await speaking.ended(said)
    await spoke(speaking)
    assert speaking.seen() == ["re: [voice] what was said"]
    await speaking.say("hello")
    assert speaking.seen()[-1] == "re: hello"


async def test_a_stopped_turn_is_not_spoken(speaking: House, server: SpeechServer) -> None:
    speaking.stage.on("what was said", speaking.stage.waits(before=("half",)))
    said = await speaking.offer(replace(speaking.message(""), attachments=(voice(),)))
    await speaking.until(lambda: bool(speaking.stage.asked))
    await speaking.say("/stop")
    await speaking.ended(said)
    await spoke(speaking)
    assert server.spoken == []


async def test_a_session_that_is_deleted_while_it_is_spoken_leaves_nothing(
    speaking: House, server: SpeechServer
) -> None:
    said = await speaking.offer(replace(speaking.message(""), attachments=(voice(),)))
    await speaking.until(lambda: len(server.heard) == 1)
    server.gate = asyncio.Event()
    server.reached.clear()
    await speaking.ended(said)
    await server.reached.wait()
    await verb(speaking, "sessions.delete", key="main/dm/7")
    [task] = speaking.core.voices.moving()
    server.gate.set()
    await task
    await speaking.idle()
    assert bot_of(speaking).received == []


async def test_a_turn_that_is_tried_again_is_spoken_too(speaking: House, server: SpeechServer) -> None:
    speaking.stage.on("what was said", speaking.stage.waits(after=("fine",)))
    said = await speaking.offer(replace(speaking.message(""), attachments=(voice(),)))
    await speaking.until(lambda: bool(speaking.stage.asked))
    await speaking.restart(settle=False)
    speaking.stage.gate().set()
    await speaking.ended(said)
    await spoke(speaking)
    assert [one.text for one in server.spoken] == ["fine"]


async def test_a_turn_that_waited_for_consent_is_spoken_too(speaking: House, server: SpeechServer) -> None:
    speaking.stage.on("what was said", Paying())
    said = await bring(speaking, "", voice())
    await speaking.until(lambda: bool(speaking.seen()))
    await speaking.idle()
    await speaking.restart()
    await speaking.say("/approve")
    await speaking.ended(said)
    await spoke(speaking)
    assert [one.text for one in server.spoken] == ["paid 1"]


async def test_sound_that_is_larger_than_the_platform_takes_is_not_sent(furnish: Furnish, server: SpeechServer) -> None:
    house = await opened(
        furnish, server, speaks=True, bot=FilingBot(capabilities=replace(FILING, upload_limit_bytes=100))
    )
    server.sound = b"OggS" + bytes(1000)
    await say_aloud(house)
    await spoke(house)
    assert bot_of(house).received == []


async def test_nothing_is_left_when_the_process_ends_while_it_speaks(speaking: House, server: SpeechServer) -> None:
    said = await speaking.offer(replace(speaking.message(""), attachments=(voice(),)))
    await speaking.until(lambda: len(server.heard) == 1)
    server.fail(Fault.HANG)
    await speaking.ended(said)
    await speaking.until(lambda: server.waiting == 1)
    await speaking.restart()
    assert speaking.core.voices.moving() == []
    assert speaking.seen() == ["re: [voice] what was said"]
    assert len(on_disk(speaking)) == 1
