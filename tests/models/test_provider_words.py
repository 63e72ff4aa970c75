"""The provider's own sentence stands in the log, in `explain` and in the probe, without what opens anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agents.provider_words import MASK, MOST_CHARS, sentence
from tests.fakes.models.replies import PLANTED_KEY, PLANTED_PATH, Fail
from tests.fakes.models.server import ModelServer
from tests.flow.asking import verb
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.test_faults import MODELS
from tests.models.watching import printed

WORDS = "This model's template knows no system messages"


@pytest.mark.parametrize("model", MODELS)
async def test_what_a_provider_says_stands_in_the_log_and_in_explain(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    server.on("please", Fail("bad_request", message=WORDS, planted=True))
    house = await furnish(model=model, limits={"retries": 0})
    with printed() as log:
        await house.ask("please")
    assert f"“{WORDS}" in str(log)
    [seen] = house.seen()
    assert WORDS not in seen
    reference = seen.partition("reference ")[2].rstrip(")")
    [turn, *_] = (await verb(house, "explain", id=reference))["findings"]
    assert WORDS in turn["why"]
    assert WORDS in turn["sentence"]
    for secret in (PLANTED_KEY, PLANTED_PATH, server.key):
        assert secret not in f"{log}{turn}"


async def test_a_key_that_looks_like_none_is_masked_as_well(furnish: ModelHouse, server: ModelServer) -> None:
    server.set_key("hunter2")
    server.on("please", Fail("bad_request", message="what is hunter2 to me?"))
    house = await furnish(limits={"retries": 0})
    await house.ask("please")
    reference = house.seen()[0].partition("reference ")[2].rstrip(")")
    [turn, *_] = (await verb(house, "explain", id=reference))["findings"]
    assert f"what is {MASK} to me?" in turn["why"]


async def test_a_turn_that_answered_has_no_why(house: House) -> None:
    said = await house.ask("please")
    [message, *_] = (await verb(house, "explain", id=str(said.row)))["findings"]
    [turn, *_] = (await verb(house, "explain", id=message["turn_id"]))["findings"]
    assert turn["why"] is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "no", "type": "x"}, "no"),
        ({"error": {"message": "no"}}, "no"),
        ({"error": "no"}, "no"),
        ({"type": "error", "error": {"type": "x", "message": "no"}}, "no"),
        ({"object": "error", "message": "no", "code": 400}, "no"),
        ({"detail": "no"}, "no"),
        ({"detail": [{"loc": ["body"], "msg": "no"}]}, "no"),
        ([{"error": {"message": "no"}}], "no"),
        ("no\nreally\x1b[31m", "no really [31m"),
        ("<html><body>502</body></html>", ""),
        (None, ""),
        ({"error": {"code": 3}}, ""),
    ],
)
def test_a_sentence_is_found_in_every_known_shape(body: object, said: str) -> None:
    assert sentence(body) == said


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-0123456789abcdef",
        "sk-ant-api03-abcdEFGH_ijkl-mnop",
        "AIzaSyA0123456789abcdefghijklmnop",
        "gsk_0123456789abcdefghij",
        "hf_abcdefghijklmnopqrstuv",
        "xoxb-123456789012-abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "0123456789abcdef0123456789abcdef",
    ],
)
@pytest.mark.parametrize(
    "around",
    ["Incorrect API key provided: {}.", "upstream said Bearer {}", "api_key={}", '{{"token": "{}"}}', "{} is bad"],
)
def test_no_key_is_left_in_a_sentence(secret: str, around: str) -> None:
    assert secret not in sentence({"message": around.format(secret)})
    assert MASK in sentence({"message": around.format(secret)})


@pytest.mark.parametrize(
    "words",
    [
        "registry.ollama.ai/library/gemma3:4b does not support tools",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default is supported.",
        "You can find your API key at https://platform.openai.com/account/api-keys.",
        "The model `Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4` does not exist.",
    ],
)
def test_what_is_no_secret_stays(words: str) -> None:
    assert sentence({"message": words}) == words


@given(st.text(max_size=600), st.text(min_size=4, max_size=20))
def test_a_sentence_is_one_short_line_without_the_secret(text: str, secret: str) -> None:
    said = sentence({"message": f"{text} {secret}"}, [secret])
    assert len(said) <= MOST_CHARS
    assert said.isprintable()
