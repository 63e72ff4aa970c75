"""What a row keeps of a message's files and quote comes back as it was, and its words lose nothing."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.desk.bringing import words
from core.people.names import storable
from core.store.enclosures import Enclosed, Enclosure, read, written
from core.store.files import Digest
from core.vocabulary import Attachment, FileKind, Quote
from tests.unit.test_bringing import row


def _paired(text: str) -> str:
    """Halves that belong together are one character, as every platform sends them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


any_text = st.text(max_size=30) | st.text(st.sampled_from("\ud83d\udcca\0\n\u202e[]a "), max_size=9).map(_paired)
sizes = st.none() | st.integers(min_value=1, max_value=1 << 50)
digests = st.none() | st.binary(min_size=32, max_size=32).map(lambda raw: Digest(raw.hex()))
attachments = st.builds(
    Attachment,
    kind=st.sampled_from(FileKind),
    ref=any_text.filter(bool),
    name=any_text,
    media_type=any_text,
    size=sizes,
)
enclosures = st.builds(
    Enclosure, attachment=attachments, digest=digests, size=sizes, text=st.none() | any_text.filter(bool),
    fault=st.sampled_from(["", "file_lost"]), settled=st.booleans(),
)  # fmt: skip
quotes = st.builds(Quote, name=any_text, text=any_text, forwarded=st.booleans())
enclosed = st.builds(Enclosed, files=st.lists(enclosures, max_size=5).map(tuple), quote=st.none() | quotes)


@settings(deadline=None)
@given(enclosed)
def test_what_is_kept_comes_back(brought: Enclosed) -> None:
    kept = written(brought)
    assert read(kept) == brought
    if kept is not None:
        assert kept.isascii()
        assert "\0" not in kept


@settings(deadline=None)
@given(attachments.map(lambda one: replace(one, size=0)) | attachments.map(lambda one: replace(one, ref="")))
@example(Attachment(kind=FileKind.FILE, ref="r", name="", media_type="", size=0))
def test_so_does_what_is_nothing(attachment: Attachment) -> None:
    brought = Enclosed(files=(Enclosure(attachment=attachment, size=0),))
    assert read(written(brought)) == brought


@settings(deadline=None)
@given(enclosed)
def test_what_another_version_adds_is_left_aside(brought: Enclosed) -> None:
    kept = written(brought)
    if kept is None:
        return
    told = json.loads(kept)
    told["more"] = 1
    for file in told["files"]:
        file["more"] = {"x": [1]}
    assert read(json.dumps(told)) == brought


@settings(deadline=None)
@given(st.text(max_size=50).filter(str.strip), enclosed)
def test_words_lose_nothing(text: str, brought: Enclosed) -> None:
    said = words(replace(row(text), enclosed=brought))
    assert text in said
    for file in brought.files:
        if file.attachment.kind is FileKind.VOICE and file.text is not None:
            assert file.text in said
        else:
            assert f"[{file.attachment.kind}" in said
    quote = brought.quote
    if quote is not None and not quote.forwarded:
        quoted = [line for line in storable(quote.text).strip().split("\n") if line.strip()]
        assert all(line in said for line in quoted)


@settings(deadline=None)
@given(enclosed)
def test_a_quote_stays_a_quote(brought: Enclosed) -> None:
    """Every line of it is marked as one."""
    if brought.quote is None or brought.quote.forwarded:
        return
    said = words(replace(row("TEXT"), enclosed=Enclosed(quote=brought.quote)))
    before, _, behind = said.rpartition("\n\nTEXT")
    assert behind == ""
    assert all(line.startswith(">") for line in before.split("\n"))
