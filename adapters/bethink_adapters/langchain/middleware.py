"""The memory of an agent of LangChain 1: recalled before the model is called, written afterwards.

    def namespace(runtime: Runtime[Context]) -> str:
        return f"users/{segment(runtime.context.user_id)}"

    memory = MemoryMiddleware(store, namespace=namespace)
    agent = create_agent(model, tools, middleware=[memory])

Recalled memories go into the request to the model, never among the agent's messages: no checkpoint
holds the memories, and the conversation does not grow.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypeAlias,
    TypedDict,
)

from bethink.adapting import TokenCounter, check_namespace, finish_in_thread, one_of

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from ..shared.opening import StoreOrPath, open_store
from ..shared.recalling import Recalling
from ..shared.subclassing import made_on
from ..shared.texts import plain_text
from .speech import is_shown, last_turn, preceding
from .tools import memory_tools
from .turns import store_turns

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest
    from langchain_core.messages import AnyMessage

    _Base: TypeAlias = AgentMiddleware[Any, Any]
else:
    _Base = object  # a type checker sees LangChain's base class; an object gets it when it is made

Namespace: TypeAlias = str | Callable[[Any], str]

_logger: Final = logging.getLogger(__name__)


@made_on("langchain", "langchain.agents.middleware", "AgentMiddleware", "langchain>=1.0.8")
class MemoryMiddleware(_Base):
    """Recall from, and remember in, a *namespace* of a bethink *store*.

    *namespace* is a name, or a function from the run's ``Runtime`` to a name. Once a run, the best
    *k* memories with a score of at least *min_score*, and not word for word in the conversation,
    are put into a fenced block of at most *budget_tokens*, as *count_tokens* counts. *min_share* is
    that of ``recall``. With *inject_as* "user" the block stands in front of the last human message,
    with "system" at the end of the system message. With *remember* the words of users and models
    are stored, without the framework's notices; of a run that failed once the model had read the
    question, the user's words. An edited question, a question asked anew at an earlier checkpoint,
    and a new answer supersede the earlier memory. With *offer_tools* the model may search and
    write. Two memories of an agent need different *name*s.

    A store that fails is logged, and the run goes on without memories.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: Namespace,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: TokenCounter | None = None,
        inject_as: Literal["user", "system"] = "user",
        remember: bool = True,
        offer_tools: bool = False,
        name: str = "memory",
    ) -> None:
        super().__init__()
        self.store = open_store(store)
        self.namespace = namespace if callable(namespace) else check_namespace(namespace)
        self.inject_as = one_of("inject_as", inject_as, ("user", "system"))
        self.remember = remember
        self.tools = memory_tools(self.store, namespace=namespace) if offer_tools else []
        self._recalling = Recalling(
            self.store,
            k=k,
            min_score=min_score,
            min_share=min_share,
            budget_tokens=budget_tokens,
            count_tokens=count_tokens,
        )
        self._name = name
        self._slot, self._asked = f"recalled_by_{name}", f"asked_of_{name}"
        self._given = f"given_to_{name}"
        self.state_schema = _state(self._slot, self._asked, self._given)

    @property
    def name(self) -> str:
        """The name of the middleware, unique in the agent."""
        return self._name

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Recall for the last human message."""
        given = preceding(state["messages"])
        return {self._slot: self._recalled(state, runtime), self._given: given}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Do the same as ``before_agent``."""
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Show the recalled memories to the model."""
        self._remember_question(request)
        return handler(self._shown(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        """Do the same as ``wrap_model_call``."""
        await finish_in_thread(self._remember_question, request)
        return await handler(await asyncio.to_thread(self._shown, request))

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Note the question as read by the model: a summary may remove the question later."""
        asked = self._questions(state["messages"], state)
        return {self._asked: asked} if asked else None

    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do the same as ``after_model``."""
        return self.after_model(state, runtime)

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Store the words of the run; known turns are not stored again."""
        said = last_turn(state["messages"], state.get(self._given) or ())
        if not any(each.type == "human" for each in said):  # a summary took the question away
            said = [*(state.get(self._asked) or ()), *said]
        self._store(said, state["messages"], state, runtime)

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Do the same as ``after_agent``."""
        await finish_in_thread(self.after_agent, state, runtime)

    def _questions(self, messages: Sequence[AnyMessage], state: Any) -> list[AnyMessage]:
        said = last_turn(messages, state.get(self._given) or ())
        return [each for each in said if each.type == "human"]

    def _remember_question(self, request: ModelRequest) -> None:
        """Store the question as soon as the model reads the question: the run may fail."""
        state: Any = request.state
        if state.get(self._asked) is None:
            asked = self._questions(request.messages, state)
            self._store(asked, request.messages, state, request.runtime)

    def _store(
        self, said: Sequence[AnyMessage], messages: Sequence[AnyMessage], state: Any, runtime: Any
    ) -> None:
        """Store the words *said*, a part of *messages*; known turns are not stored again."""
        if not self.remember or not said:
            return
        namespace = _resolved(self.namespace, runtime)
        after = state.get(self._given) or preceding(messages)
        try:
            store_turns(self.store, said, after, namespace)
        except Exception:
            _logger.exception("%s could not store what was said; the run goes on", self.name)

    def _recalled(self, state: Any, runtime: Any) -> str:
        messages = state["messages"]
        said = {plain_text(message.content).strip() for message in messages}
        asked = (each for each in reversed(messages) if each.type == "human" and is_shown(each))
        query = next((plain_text(message.content) for message in asked), "")
        namespace = _resolved(self.namespace, runtime)
        return self._recalling.safely(query, said, namespace=namespace).text

    def _shown(self, request: ModelRequest) -> ModelRequest:
        state: Any = request.state
        block = state.get(self._slot)
        if block is None:  # resumed after an interrupt: what is not kept is recalled again
            block = self._recalled(state, request.runtime)
        if not block:
            return request
        if self.inject_as == "user":
            return request.override(messages=_with_block(request.messages, block))
        if not hasattr(request, "system_message"):  # LangChain 1.0
            told = "\n\n".join(filter(None, (request.system_prompt, block)))
            return request.override(system_prompt=told)  # type: ignore[call-arg]
        return request.override(system_message=_with_text(request.system_message, block))


def _state(recalled: str, asked: str, given: str) -> type:
    """Return a state with three slots, kept out of input, result and checkpoints."""
    from langchain.agents.middleware.types import PrivateStateAttr
    from langgraph.channels import UntrackedValue

    text = NotRequired[Annotated[str, PrivateStateAttr, UntrackedValue]]
    turns = NotRequired[Annotated[list[Any], PrivateStateAttr, UntrackedValue]]
    ids = NotRequired[Annotated[dict[str, str], PrivateStateAttr, UntrackedValue]]
    return TypedDict("MemoryState", {recalled: text, asked: turns, given: ids})  # type: ignore[operator, no-any-return]


def _resolved(namespace: Namespace, runtime: Any) -> str:
    return check_namespace(namespace(runtime)) if callable(namespace) else namespace


def _with_block(messages: Sequence[AnyMessage], block: str) -> list[AnyMessage]:
    """Return *messages* with the *block* in front of the last human message."""
    from langchain_core.messages import HumanMessage

    shown = list(messages)
    places = (at for at in reversed(range(len(shown))) if shown[at].type == "human")
    shown.insert(next(places, 0), HumanMessage(content=block))
    return shown


def _with_text(message: Any, text: str) -> Any:
    """Return a system *message*, or a new message, with *text* at the end."""
    from langchain_core.messages import SystemMessage

    if message is None:
        return SystemMessage(content=text)
    if isinstance(message.content, str):
        content: Any = f"{message.content}\n\n{text}"
    else:
        content = [*message.content, {"type": "text", "text": text}]
    return message.model_copy(update={"content": content})
