"""The bodies of requests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from bethink.adapting import Mode

from ..shared.defaults import DEFAULT_BUDGET_TOKENS
from ..surface.verbs import Judgement
from .filters import Where
from .settings import MAX_BATCH, MAX_HITS
from .types import (
    Body,
    Content,
    Id,
    Ids,
    Integral,
    Kind,
    Label,
    Moment,
    Namespace,
    Present,
    Query,
    Seconds,
    Tags,
    Text,
    Time,
    Unit,
)

_Numbers = Annotated[
    list[Annotated[float, Field(ge=-1e18, le=1e18)]], Field(min_length=1, max_length=8192)
]
Vectors = Annotated[
    dict[Label, _Numbers],
    Field(max_length=16, json_schema_extra={"additionalProperties": False}),
]


class Common(Body):
    """The fields of a memory that a client may give."""

    key: Label | None = None
    value: Any = None
    thread: Text | None = None
    author: Text | None = None
    category: Label | None = None
    tags: Tags = Field([])
    importance: Unit = 0.5
    confidence: Unit = 1.0
    source: Text | None = None
    metadata: dict[str, Any] | None = None
    occurred_at: Time | None = None
    expires_at: Time | None = None
    vectors: Vectors | None = None

    def given(self) -> dict[str, Any]:
        """Return the fields that were given."""
        return self.model_dump(exclude_unset=True)


class NewMemory(Common):
    """A memory to store."""

    content: Content
    namespace: Namespace | None = None
    id: Id | None = None
    supersedes: Id | None = None


class StoreBody(NewMemory):
    """A memory to store; *on_similar* decides about a near-duplicate."""

    on_similar: Literal["keep", "raise", "merge"] = "keep"
    similarity: Unit = 0.92


class BatchBody(Body):
    """Memories to store and ids to forget, all or none."""

    items: Annotated[list[NewMemory], Field(min_length=1, max_length=MAX_BATCH)]
    forget: Annotated[list[Id], Field(max_length=MAX_BATCH)] = Field([])
    on_similar: Literal["keep", "raise", "merge"] = "keep"


class GetBody(Body):
    """The memories to read."""

    ids: Annotated[list[Id], Field(max_length=MAX_BATCH)]
    as_of: Moment | Seconds | None = None


class UpdateBody(Common):
    """Fields to change; at least one."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})
    content: Content = "-"
    namespace: Namespace = "default"

    def model_post_init(self, _: Any) -> None:
        """Refuse a change of nothing."""
        if not self.model_fields_set:
            raise ValueError("give a field to change")


class Scoped(Body):
    """What a search looks through: all that is visible, or *namespace*, with all below."""

    namespace: Namespace | None = None
    subtree: bool = False
    where: Where | None = None


class Searching(Scoped):
    """The arguments of a search."""

    query: Query
    k: Annotated[int, Field(ge=0, le=MAX_HITS), Integral] = 5
    mode: Mode = "hybrid"
    min_score: Annotated[float, Field(ge=-1e9, le=1e9)] = 0.0
    min_similarity: Unit = 0.0
    min_share: Unit = 0.0
    trusted: Annotated[list[Label | None], Field(max_length=MAX_BATCH)] | None = None
    as_of: Moment | Seconds | None = None


class RecallBody(Searching):
    """A search; *touch* counts the hits as accessed."""

    touch: bool = False


class PackBody(RecallBody):
    """A search whose hits are packed into a text for a prompt."""

    k: Annotated[int, Field(ge=0, le=MAX_HITS), Integral] = 100
    budget_tokens: Annotated[int, Field(ge=0, le=1_000_000), Integral] = DEFAULT_BUDGET_TOKENS


class WhyBody(Searching):
    """A search that a memory is missing from."""


class SimilarBody(Scoped):
    """A text to look for near-duplicates of."""

    content: Content
    similarity: Unit = 0.92


class ResolveBody(Body):
    """A conflict to settle: *keep* supersedes *drop*."""

    keep: Id
    drop: Ids
    reason: Text | None = None


class ConsolidateBody(Scoped):
    """Where to merge near-duplicates; *dry_run* only tells."""

    dry_run: bool = True


class ManyBody(Scoped):
    """What to change: *ids*, or *namespace* and *where*; *confirm* comes of a dry run."""

    ids: Annotated[list[Id], Field(max_length=MAX_BATCH)] | None = None
    dry_run: bool = True
    confirm: Annotated[str, Field(max_length=200)] | None = None


class TagsBody(ManyBody):
    """The memories to change, the tags to *add* and the tags to *remove*."""

    add: Tags = Field([])
    remove: Tags = Field([])


class TidyBody(Body):
    """What to tidy: memories unused for *retention* days, or weaker than *floor*."""

    retention: Annotated[float, Field(ge=0, le=1e6)] | None = None
    floor: Unit | None = None
    dry_run: bool = True
    confirm: Annotated[str, Field(max_length=200)] | None = None


class CompactBody(Body):
    """The history to remove: *before* a moment, or all but the last *keep* days."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": [name], "properties": {name: {"not": {"type": "null"}}}}
                for name in ("before", "keep")
            ]
        }
    )
    before: Moment | None = None
    keep: Annotated[float, Field(ge=0, le=1e6)] | None = None
    dry_run: bool = True
    confirm: Annotated[str, Field(max_length=200)] | None = None


class OutcomeBody(Body):
    """How following a memory went."""

    outcome: Judgement
    session: Label | None = None


class OutcomesBody(OutcomeBody):
    """How following memories went."""

    ids: Ids


class RelationBody(Body):
    """A link to *target*, such as "fixes"."""

    target: Id
    kind: Kind


class ReinforceBody(Body):
    """By how much the importance rises."""

    amount: Unit = 0.1


class UndoBody(Body):
    """The journal entry to undo."""

    seq: Annotated[int, Field(ge=1, le=2**53), Integral]


class SnapshotBody(Body):
    """The name for the present."""

    name: Label


class MessageBody(Body):
    """A message of a thread: *value* is the message, *content* the text to search."""

    value: Present
    content: Query = ""
    author: Text | None = None


class AppendBody(Body):
    """Messages to append, all or none."""

    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=MAX_BATCH)]


class TaskLinksBody(Body):
    """The memories to link with a task."""

    ids: Ids


class SyncBody(Body):
    """Which links to sync; *allow_failed* lets a reason such as "reverted" count as failed."""

    namespace: Namespace | None = None
    dry_run: bool = True
    allow_failed: bool = False
