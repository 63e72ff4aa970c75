"""Files go up in three steps and come down with the token."""

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import Channel, Person, SlackServer


async def test_a_file_goes_up_and_comes_down(
    server: SlackServer, web: AsyncWebClient, http: aiohttp.ClientSession, ada: Person, general: Channel
) -> None:
    root = server.say(general, ada, "send me the figures")
    sent = await web.files_upload_v2(
        channel=general.id, thread_ts=root.ts, filename="a.csv", content="1,2", initial_comment="here"
    )
    (message,) = server.from_bot(general, thread=root)
    assert (message.text, message.subtype, message.file_ids) == ("here", "file_share", (sent["file"]["id"],))
    url = sent["file"]["url_private_download"]
    async with http.get(url, headers={"Authorization": f"Bearer {server.bot.token}"}) as response:
        assert (response.content_type, await response.read()) == ("text/csv", b"1,2")
    async with http.get(url) as response:
        assert (response.status, response.content_type) == (200, "text/html")
    theirs = server.file(ada, "b.png", b"png")
    async with http.get(f"{server.url}/files-pri/T-{theirs.id}/b.png") as response:
        assert response.content_type == "text/html"
    with pytest.raises(SlackApiError, match="file_not_found"):
        await web.files_info(file=theirs.id)
    server.say(general, ada, "", files=[theirs])
    info = (await web.files_info(file=theirs.id))["file"]
    assert (info["mimetype"], info["size"], info["channels"]) == ("image/png", 3, [general.id])
    mine = (await web.files_info(file=sent["file"]["id"]))["file"]
    assert mine["shares"]["public"][general.id] == [{"ts": message.ts, "thread_ts": root.ts}]
    assert server.problems == ()


async def test_uploads_are_checked(server: SlackServer, web: AsyncWebClient, http: aiohttp.ClientSession) -> None:
    with pytest.raises(SlackApiError, match="missing_argument"):
        await web.files_getUploadURLExternal(filename="a", length=0)
    ticket = await web.files_getUploadURLExternal(filename="a", length=3)
    file = {"id": str(ticket["file_id"]), "title": "a"}
    with pytest.raises(SlackApiError, match="file_not_found"):
        await web.files_completeUploadExternal(files=[file])  # type: ignore[list-item]
    async with http.post(str(ticket["upload_url"]), data=b"four") as response:
        assert response.status == 400
    async with http.post(str(ticket["upload_url"]), data=b"abc") as response:
        assert (response.status, await response.text()) == (200, "OK - 3")
    await web.files_completeUploadExternal(files=[file])  # type: ignore[list-item]
