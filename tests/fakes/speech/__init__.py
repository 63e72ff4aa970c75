"""A strict test double of OpenAI's audio endpoints, on loopback, spoken to over real HTTP.

It refuses what they refuse: https://platform.openai.com/docs/api-reference/audio.

    async with SpeechServer() as server:
        server.hears("what was said")
        server.fail(Fault.STATUS_500)
"""

from tests.fakes.speech.server import KEY, Fault, SpeechServer, ThreadedSpeechServer
from tests.fakes.speech.strict import Heard, Spoken

__all__ = ["KEY", "Fault", "Heard", "SpeechServer", "Spoken", "ThreadedSpeechServer"]
