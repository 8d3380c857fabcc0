"""An AutoGen agent that recalls anew before each call of its model, also after a tool's answer.

    pip install ".[autogen]" && python examples/autogen_context.py

Runs offline with replayed answers.
"""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

from bethink import MemoryStore
from bethink_adapters.autogen import MemoryModelContext

MODEL = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=False,
    structured_output=False,
    family="unknown",
)


def dessert_of_the_day() -> str:
    """Tell what is for dessert."""
    return "pralines"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "m.db") as store:
        store.store("Ann is allergic to nuts.", namespace="users/ann")
        store.store("Pralines contain hazelnuts.", namespace="users/ann")
        context = MemoryModelContext(store, namespace="users/ann")
        ask = FunctionCall(id="1", name="dessert_of_the_day", arguments="{}")
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        call = CreateResult(
            content=[ask], finish_reason="function_calls", usage=usage, cached=False
        )
        client = ReplayChatCompletionClient([call, "Better not: it has nuts."], model_info=MODEL)
        agent = AssistantAgent(
            "waiter",
            model_client=client,
            tools=[dessert_of_the_day],
            reflect_on_tool_use=True,
            model_context=context,
        )
        result = await agent.run(task="May Ann, who is allergic, eat what you serve?")
        for number, asked in enumerate(client.create_calls, 1):
            print(f"call {number}", *(message.content for message in asked["messages"]), sep="\n")
        answer: Any = result.messages[-1]
        print(answer.content)
        state = json.dumps(await agent.save_state())
        print(state.count("hazelnuts"), "recalled lines in the saved state")


if __name__ == "__main__":
    asyncio.run(main())
