"""Calls: signatures with every field, and the right name for a wrong name or argument."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import Parameter, getattr_static, iscoroutinefunction, isfunction, signature
from typing import Any, Final, NoReturn, TypeVar

from .errors import ArgumentError

Kind = TypeVar("Kind", bound=type)
Verb = TypeVar("Verb", bound=Callable[..., Any])

_OTHER_NAMES: Final = {
    # verbs
    "store": "add add_memory create insert learn memorize put remember save set upsert",
    "store_many": "add_all add_documents add_many add_texts bulk extend insert_many put_many",
    "recall": "ask find get lookup query relevant retrieve search search_memories "
    "similarity_search",
    "remember": "add insert put save set store upsert",
    "get": "fetch find_one get_by_id load peek read",
    "all": "entries fetch_all find_all get_all get_all_memories items list list_all list_memories "
    "scan values",
    "count": "length len size total",
    "update": "edit modify patch replace update_memory",
    "forget": "clear delete delete_all discard drop pop purge remove reset wipe delete_memory",
    "erase": "destroy gdpr_delete hard_delete purge shred wipe",
    "restore": "undelete unforget recover",
    "undo": "revert rollback",
    "log": "changes events history journal",
    "audit": "history versions",
    "reinforce": "boost strengthen",
    "consolidate": "compact dedup dedupe deduplicate merge_duplicates",
    "merge_from": "absorb merge",
    "pack": "build_context context format_context get_context prompt to_prompt",
    "relate": "add_edge add_link add_relation connect link",
    "unrelate": "disconnect remove_edge unlink",
    "related": "get_links links neighbors neighbours relations",
    "to_dict": "as_dict asdict dict json model_dump to_json",
    "embed": "embed_documents embed_fn embed_query embed_text embedder embedding_function encode",
    "record_outcome": "feedback rate reward",
    "stats": "get_stats",
    "mark_useful": "feedback",
    "expire": "evict",
    "close": "disconnect dispose quit shutdown stop",
    "export": "dump export_json save_to to_json",
    "import_": "from_json import_json load load_json restore_from",
    "verify": "check health integrity_check validate",
    "repair": "fix mend",
    "backup": "clone copy_to snapshot_to",
    "why_not": "debug explain why",
    "search": "find nearest query recall retrieve similarity_search",
    "recent": "latest last newest",
    "append": "add add_message add_messages push save_messages",
    "messages": "get get_messages history load_messages",
    "read": "cat get load open read_text",
    "write": "put save set write_text",
    "delete": "remove rm unlink",
    "rename": "move mv",
    "list": "dir ls listdir",
    # arguments
    "content": "data document memory message page_content text",
    "query": "input prompt q question query_text recall search text",
    "k": "candidates count limit max_memories max_results n n_results num_results size top top_k "
    "topk",
    "top_k": "k limit n n_results",
    "limit": "k max_results n n_results size top_k",
    "last": "k limit n",
    "offset": "skip start",
    "where": "condition conditions filter filters metadata_filter older_than_seconds",
    "namespace": "agent agent_id app_id collection group_id org_id project run_id scope namespaces "
    "session_id tenant tenant_id user user_id",
    "min_score": "cutoff min_relevance score_threshold threshold",
    "min_similarity": "similarity_threshold",
    "budget_tokens": "budget max_tokens token_budget token_limit tokens",
    "count_tokens": "encoder token_counter tokenizer token_estimator",
    "vector": "embedding query_embedding query_vector",
    "vectors": "embedding embeddings vector",
    "mode": "search_type strategy type",
    "order": "order_by sort sort_by",
    "ids": "id memory_id memory_ids record_id",
    "id": "doc_id ids memory_id record_id uuid",
    "items": "contents data documents memories messages records texts",
    "category": "kind label memory_type type",
    "author": "role speaker",
    "thread": "conversation conversation_id session_id thread_id",
    "occurred_at": "created created_at date datetime time timestamp",
    "expires_at": "expire expires expiry ttl",
    "importance": "priority salience weight",
    "metadata": "extra meta metadatas properties",
    "source": "from_id origin source_id",
    "now": "at current_time time",
    "as_of": "at date time_travel version",
    "amount": "by delta boost importance_boost weight",
    "outcome": "result score success",
    "location": "db db_path file filename path persist_directory uri url",
    "embedder": "embed embed_fn embedding embedding_fn embedding_function embedding_model "
    "embeddings model",
    "api_key": "key openai_api_key token",
    "base_url": "api_base endpoint host url",
    "dimension": "dim dimensions dims size",
    "fn": "callable embed func function",
    "integrity_key": "encryption_key key passphrase password secret",
    # fields of results
    "score": "distance relevance similarity",
    "ranking": "retrieval_config scoring scoring_config",
    "min_tier": "min_confidence",
    "keep": "keep_id",
    "drop": "drop_id drop_ids",
    "similarity": "dedupe_threshold similarity_threshold threshold",
    "state": "include_archived",
    "touch": "track_usage",
    "retention": "days max_age older_than retention_days",
    "older_than": "days older_than_days older_than_seconds",
    "rate": "decay decay_rate lam lambda_",
    "session": "session_id",
    "since": "a",
    "until": "b",
    "when": "label time timestamp ts",
    "name": "label",
    "target": "target_id to_id",
    "kind": "relation relation_type",
    "other": "path source store",
    "durability": "journal_mode",
    # classes
    "MemoryStore": "AgentMemory Client Database MemoryClient Mem0 Store VectorStore connect open",
    "AsyncMemoryStore": "AsyncClient AsyncMemory AsyncMemoryClient AsyncStore",
    "MemoryRecord": "Document Item Record",
    "RecallResult": "Hit Result SearchResult",
    "BethinkError": "Error MemoryError",
    "CallableEmbedder": "EmbeddingFunction FunctionEmbedder",
}
"""The right names, each with names that callers may know from elsewhere."""


def right_names(wrong: str, known: Collection[str]) -> str:
    """Return the names among *known* that are called *wrong* elsewhere, as a remedy to read."""
    right = [name for name, others in _OTHER_NAMES.items() if wrong in others.split()]
    return " or ".join(repr(name) for name in right if name in known)


def missing_attribute(
    owner: str, name: str, known: Collection[str], remedy: str = ""
) -> AttributeError:
    """Return the error of *owner* without an attribute *name*, with the right name if known.

    The *remedy* stands where no right name is known.
    """
    message = f"{owner} has no attribute {name!r}"
    right = "" if name.startswith("_") else right_names(name, known) or remedy
    if right:
        return AttributeError(f"{message}; use {right}", name=None)  # so Python adds no guess
    return AttributeError(message)


def unknown_name(what: str, name: str, known: Collection[str]) -> ArgumentError:
    """Return the error of an unknown *name*, with the right name, or else the *known* names."""
    from difflib import get_close_matches

    right = right_names(name, known) or "".join(map(repr, get_close_matches(name, known, 1, 0.75)))
    remedy = f"use {right}" if right else f"known: {', '.join(known) or 'none'}"
    return ArgumentError(f"unknown {what} {name!r}; {remedy}")


def spelled_out(given: Any, defaults: Mapping[str, object]) -> Callable[[Verb], Verb]:
    """Show the fields of the TypedDict *given* in the signature of a verb with ``**given``.

    The default "..." of a field without an entry in *defaults* stands for no change.
    """

    def spell_out(verb: Verb) -> Verb:
        shown = signature(verb)
        *own, _ = shown.parameters.values()
        for name, hint in given.__annotations__.items():
            default = defaults.get(name, ...)
            own.append(
                Parameter(
                    name,
                    Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=hint.__forward_arg__,
                )
            )
        vars(verb)["__signature__"] = shown.replace(parameters=own)
        return verb

    return spell_out


def suggesting(kind: Kind) -> Kind:
    """Make *kind* answer a wrong name, or a wrong argument of a verb, with the right name."""

    def find_missing(self: object, name: str) -> NoReturn:
        kind = type(self)
        remedy = getattr(kind, "_remedy", "")
        raise missing_attribute(f"{kind.__name__!r} object", name, dir(kind), remedy)

    vars_of_kind: Any = kind
    vars_of_kind.__getattr__ = find_missing
    for name in dir(kind):
        verb, public = getattr_static(kind, name), name == "__init__" or name[0] != "_"
        if public and isfunction(verb) and not _is_wrapped(verb):
            call = explaining(verb)
            call.__module__, call.__qualname__ = kind.__module__, f"{kind.__qualname__}.{name}"
            setattr(kind, name, call)
    return kind


def _is_wrapped(verb: object) -> bool:
    """Return whether the wrong calls of *verb* are seen too late, or by an inner verb."""
    return iscoroutinefunction(verb) or hasattr(verb, "__wrapped__")


def explaining(verb: Verb) -> Verb:
    """Return *verb* with an ``ArgumentError`` for every call that does not fit the signature."""

    @wraps(verb)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return verb(*given, **named)
        except TypeError:
            if wrong := _wrong_call(verb, given, named):
                raise wrong from None
            raise

    return call  # type: ignore[return-value]


def _wrong_call(
    verb: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]
) -> ArgumentError | None:
    """Return the error of a call of *verb* that does not fit the signature."""
    known = signature(verb).parameters
    kinds = {each.kind for each in known.values()}
    names = [name for name in known if name != "self"]
    placed = [name for name in names if known[name].kind is not Parameter.KEYWORD_ONLY]
    wrong = [name for name in named if name not in known]
    if wrong and Parameter.VAR_KEYWORD not in kinds:
        return unknown_name("argument", wrong[0], names)
    called = type(given[0]).__name__ if given and verb.__name__ == "__init__" else verb.__name__
    if len(given) > len(placed) + ("self" in known) and Parameter.VAR_POSITIONAL not in kinds:
        message = f"{called} takes {', '.join(placed) or 'nothing'} without a name"
        by_name = ", ".join(name for name in names if name not in placed)
        return ArgumentError(f"{message}; by name: {by_name}" if by_name else message)
    try:
        signature(verb).bind(*given, **named)
    except TypeError as error:
        return ArgumentError(f"{called}: {error}")
    return None
