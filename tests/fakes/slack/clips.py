"""What people record in Slack itself: a file that one more word tells from others
(https://docs.slack.dev/reference/objects/file-object)."""

from dataclasses import replace

from tests.fakes.slack.model import File
from tests.fakes.slack.platform import Platform


def recorded(platform: Platform, file: File, subtype: str = "slack_audio") -> File:
    """The file as a clip; it is to be said something with. "slack_audio" or "slack_video"."""
    with platform.lock:
        clip = replace(platform.files[file.id], subtype=subtype)
        platform.files[file.id] = clip
        return clip
