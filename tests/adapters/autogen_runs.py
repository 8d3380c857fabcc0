"""What the tests of `AgentMemory` share: calls made synchronous, the contract, a model server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_core import FunctionCall
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import CreateResult, ModelInfo, RequestUsage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

from bethink import MemoryStore
from bethink_adapters.autogen import AgentMemory, erase_user

from .contract import AdapterContract, GatedStore, cancel_at_gate, place

MODEL = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=False,
    family="unknown",
    structured_output=False,
)


def text(content: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=content, mime_type=MemoryMimeType.TEXT, metadata=metadata)


def add(memory: Memory, *contents: str | MemoryContent) -> None:
    async def all_of_them() -> None:
        for content in contents:
            await memory.add(text(content) if isinstance(content, str) else content)

    asyncio.run(all_of_them())


def query(memory: Memory, words: str | MemoryContent, **options: Any) -> list[MemoryContent]:
    return asyncio.run(memory.query(words, **options)).results


def ask(agent: AssistantAgent, *tasks: str) -> list[TaskResult]:
    async def one_by_one() -> list[TaskResult]:
        return [await agent.run(task=task) for task in tasks]

    return asyncio.run(one_by_one())


def prompts(client: ReplayChatCompletionClient) -> list[Sequence[Any]]:
    """Return the messages of each call that *client* got."""
    return [call["messages"] for call in client.create_calls]


def sources(prompt: Sequence[Any]) -> list[str]:
    """Say who speaks in each message of *prompt*."""
    return [getattr(message, "source", "system") for message in prompt]


def assistant(
    *answers: str | CreateResult, memory: Sequence[Memory], **options: Any
) -> tuple[AssistantAgent, ReplayChatCompletionClient]:
    client = ReplayChatCompletionClient(list(answers), model_info=MODEL)
    agent = AssistantAgent(
        "helper", model_client=client, memory=list(memory), system_message="Be brief.", **options
    )
    return agent, client


def look(place: str) -> str:
    """Look somewhere."""
    return f"nothing in {place}"


def call_look(place: str) -> CreateResult:
    """Answer with a call of `look`."""
    return called("look", place=place)


def called(name: str, **arguments: str) -> CreateResult:
    """Answer with a call of the tool *name*."""
    call = FunctionCall(id="1", name=name, arguments=json.dumps(arguments))
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    return CreateResult(content=[call], finish_reason="function_calls", usage=usage, cached=False)


@dataclass
class Talk:
    """The conversation of one user."""

    agent: AssistantAgent
    client: ReplayChatCompletionClient
    memory: AgentMemory
    result: TaskResult | None = None


class AgentContract(AdapterContract):
    """The adapter contract with `AssistantAgent` as the framework."""

    reload_code = """
import asyncio, json, sys
from autogen_core.memory import Memory

async def main():
    memory = Memory.load_component(json.load(sys.stdin))
    for found in (await memory.query(sys.argv[1])).results:
        print(found.content)
    await memory.close()

asyncio.run(main())
"""

    def setup_method(self) -> None:
        self.talks: dict[tuple[int, str], Talk] = {}

    def memory(self, store: MemoryStore, user: str) -> AgentMemory:
        return AgentMemory(store, namespace=place(user))

    def talk(self, store: MemoryStore, user: str) -> Talk:
        key = (id(store), user)
        if key not in self.talks:
            memory = self.memory(store, user)
            self.talks[key] = Talk(*assistant(memory=[memory]), memory)
        return self.talks[key]

    async def arun(self, store: MemoryStore, user: str, task: str, reply: str) -> str:
        talk = self.talk(store, user)
        talk.client.chat_completions.append(reply)
        talk.result = await talk.agent.run(task=task)
        return "\n".join(str(message.content) for message in prompts(talk.client)[-1])

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        return asyncio.run(self.arun(store, user, text, reply))

    def ingest(self, store: MemoryStore, user: str) -> None:
        talk = self.talk(store, user)
        assert talk.result is not None
        asyncio.run(talk.memory.record(talk.result))

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(store, namespace=place(user))

    def run_failing(self, store: MemoryStore, user: str, text: str) -> bool:
        talk = self.talk(store, user)
        talk.client.chat_completions.append(3)  # type: ignore[arg-type]  # no answer of a model

        async def failing() -> None:
            came: list[Any] = []
            with suppress(Exception):  # AutoGen wraps the model's error as it likes
                async for message in talk.agent.run_stream(task=text):
                    came.append(message)
            await talk.memory.record(came)

        asyncio.run(failing())
        return True

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        add(self.memory(store, user), text)

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        found = asyncio.run(self.memory(store, user).query(query))
        return [str(content.content) for content in found.results]

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return json.dumps(asyncio.run(self.talk(store, user).agent.save_state()))

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        agent = self.talk(store, user).agent
        asyncio.run(cancel_at_gate(store, agent.run(task=query)))

    def dump(self, store: MemoryStore, user: str) -> str:
        return self.memory(store, user).dump_component().model_dump_json()

    def block_within(
        self, store: MemoryStore, user: str, query: str, budget: int, counter: Callable[[str], int]
    ) -> str:
        memory = self.memory(store, user)
        memory.budget_tokens, memory.count_tokens, memory.k = budget, counter, 40
        context = UnboundedChatCompletionContext([UserMessage(content=query, source="user")])
        asyncio.run(memory.update_context(context))
        return "".join(str(m.content) for m in asyncio.run(context.get_messages())[:-1])

    def chat_concurrently(
        self, store: MemoryStore, turns: Sequence[tuple[str, str, str]]
    ) -> list[str]:
        async def turn(user: str, task: str, reply: str) -> str:
            prompt = await self.arun(store, user, task, reply)
            talk = self.talk(store, user)
            assert talk.result is not None
            await talk.memory.record(talk.result)
            return prompt

        async def together() -> list[str]:
            return await asyncio.gather(*(turn(*each) for each in turns))

        return asyncio.run(together())


class Answers(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint on this machine that always says the same."""

    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.asked.append(json.loads(self.rfile.read(length)))
        message = {"role": "assistant", "content": "Under the flowerpot."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": "some-model"}
        body = json.dumps(head | {"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def model_server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Run an OpenAI-compatible server; yield its address and the list of requests it got."""
    asked: list[dict[str, Any]] = []
    handler = type("Handler", (Answers,), {"asked": asked})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
        server.shutdown()
        thread.join()
