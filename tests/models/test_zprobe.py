from tests.fakes.models import *
import json, pytest
@pytest.mark.parametrize("model",["openai-responses:gpt-test","openai-responses:gpt-5.1"])
async def test_probe(furnish, server, model):
    house = await furnish(model=model, settings={"reasoning": "low"})
    server.on("time", Steps((Think("The time? I have a tool."), Call("current_time")), (Think("So."), Say("Noon."))))
    await house.ask("time?")
    await house.ask("thanks")
    print(model, json.dumps(server.requests[-1].body)[:3000])
    for e in await house.log(): print(e.kind, json.dumps(e.data)[:700])
