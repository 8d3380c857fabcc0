"""Names for adapters beside the public names: checks, limits, async twins, and types.

Adapters import public names and this module, nothing deeper.
"""

from .aio import finish_in_thread, make_async, make_async_write
from .calls import explaining, suggesting, unknown_name
from .embedders import check_embedder
from .features.files import ROOT, normalise_path, numbered
from .features.keys import (
    Held,
    forget_if,
    keys_between,
    last_between,
    store_if,
    update_all,
    update_if,
)
from .features.outcomes import Verdict
from .features.packing import Budget, Packed, TokenCounter, pack
from .features.tallies import tallies, values
from .features.transfer import (
    ForeignLink,
    ForeignRecord,
    PastChange,
    foreign_link,
    foreign_record,
    import_foreign,
)
from .features.turns import Turn, add_turns, turn_key
from .memory.memories import Where, check_store
from .memory.ranking import DAY, Scored, Signals
from .memory.ranking import checked as checked_ranking
from .memory.search import Mode
from .model.arrays import Truths
from .model.fields import (
    MAX_CONTENT,
    MAX_LABEL,
    function,
    identifier,
    integer,
    label,
    number,
    one_of,
    path,
    plain,
    storable,
    vector,
)
from .model.namespaces import Scope, check_namespace, check_scope, covers, unsegment
from .model.port import Page, Tally
from .model.progress import Progress, counted, telling
from .model.records import CHECKS, Listed, Order
from .model.records import checked as checked_fields
from .text import read_query, rough_tokens, terms

__all__ = [
    "CHECKS",
    "DAY",
    "MAX_CONTENT",
    "MAX_LABEL",
    "ROOT",
    "Budget",
    "ForeignLink",
    "ForeignRecord",
    "Held",
    "Listed",
    "Mode",
    "Order",
    "Packed",
    "Page",
    "PastChange",
    "Progress",
    "Scope",
    "Scored",
    "Signals",
    "Tally",
    "TokenCounter",
    "Truths",
    "Turn",
    "Verdict",
    "Where",
    "add_turns",
    "check_embedder",
    "check_namespace",
    "check_scope",
    "check_store",
    "checked_fields",
    "checked_ranking",
    "counted",
    "covers",
    "explaining",
    "finish_in_thread",
    "foreign_link",
    "foreign_record",
    "forget_if",
    "function",
    "identifier",
    "import_foreign",
    "integer",
    "keys_between",
    "label",
    "last_between",
    "make_async",
    "make_async_write",
    "normalise_path",
    "number",
    "numbered",
    "one_of",
    "pack",
    "path",
    "plain",
    "read_query",
    "rough_tokens",
    "storable",
    "store_if",
    "suggesting",
    "tallies",
    "telling",
    "terms",
    "turn_key",
    "unknown_name",
    "unsegment",
    "update_all",
    "update_if",
    "values",
    "vector",
]
