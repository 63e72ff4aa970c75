from tests.fakes.models import *
from tests.models.conftest import agent_of
from tests.models.watching import *
import json, pytest, itertools
M=["openai:gpt-test","openai:gpt-5.1","openai-responses:gpt-5.1","openai-responses:gpt-test","anthropic:claude-sonnet-4-6","anthropic:claude-opus-5-5", "openai:deepseek-reasoner", "openai:gpt-4o"]
@pytest.mark.parametrize("a,b",list(itertools.permutations(M,2)))
async def test_probe(furnish, server, a, b):
    house = await furnish(model=a, settings={"reasoning": "low"} if "4o" not in a else {})
    server.on("time", Steps((Think("The time? I have a tool."), Say("Let me see"), Call("current_time")), (Think("So."), Say("Noon."))))
    server.on("silent", Steps((Think("The time? I have a tool."), Call("current_time")), (Think("So."), Say("Noon."))))
    await house.ask("time?")
    await house.ask("silent?")
    await house.die()
    house.options["agents"]={"default": agent_of(server, model=b)}
    await house.open()
    with printed() as log:
        await house.ask("thanks")
        await house.ask("silent 2")
        await house.die()
        house.options["agents"]={"default": agent_of(server, model=a)}
        await house.open()
        await house.ask("thanks2")
    s=house.seen()
    if s[2:]!=["re: thanks","Noon.", "re: thanks2"]: print(a,b,s, [r.error[:200] for r in server.requests if r.error])
    print(a, b, [dict(e) for e in log.named("history_not_readable")])
