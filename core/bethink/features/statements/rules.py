"""Rules: whether two texts are in conflict, and whether two texts differ at all.

Statements are compared in pairs. Where two share most words, the rest decides: a denial, a
different number, a word exchanged for another. The verdict does not depend on the order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, TypeAlias

from . import lexicon as lex
from .spelling import are_spelled_apart
from .statement_features import EMOJI, Statement, StatementFeatures, opposites
from .values import Value

Tier: TypeAlias = Literal["likely", "possible"]
Signals: TypeAlias = Mapping[str, float | str]

MOST_SHARED: Final = 0.75
HALF_SHARED: Final = 0.5
_DATED: Final = frozenset((*lex.TIMES, "time", "change"))
_BOUNDS: Final = frozenset(("before", "after"))
MAX_SURE_PAIRS: Final = 100  # of statements: two texts of ten sentences
MAX_REPLACED: Final = 4  # or so many characters
MIN_SUBJECT_TERMS: Final = 3  # so many words tell what a statement is about, wherever they stand


@dataclass(slots=True)  # not frozen: that takes three times as long to make
class _Pair:
    """Two statements, the two texts, and the shared terms."""

    x: Statement
    y: Statement
    a: StatementFeatures
    b: StatementFeatures
    common: frozenset[str]

    @property
    def overlap(self) -> float:
        return len(self.common) / (min(len(self.x.bag), len(self.y.bag)) or 1)


Finding: TypeAlias = tuple[Tier, str, float | str]


def compare(a: StatementFeatures, b: StatementFeatures) -> tuple[Tier, Signals] | None:
    """Return the tier of a conflict between two texts and the signals, None without a conflict."""
    findings = _find_all(a, b) or _details(a, b)
    if not findings:
        return None
    # Of many pairs of statements, one is in conflict by chance.
    if len(a.statements) * len(b.statements) > MAX_SURE_PAIRS:
        findings = [("possible", signal, measure) for _, signal, measure in findings]
    tier: Tier = "likely" if any(each[0] == "likely" for each in findings) else "possible"
    found: dict[str, float | str] = {}
    for each, signal, measure in findings:
        if each == tier:
            found.setdefault(signal, measure)
    return tier, found


def differ(a: StatementFeatures, b: StatementFeatures) -> bool:
    """Say whether merging the texts would lose something: a value, a denial, a word of each."""
    if a.figures != b.figures or a.denials != b.denials:
        return True
    one, other = frozenset(a.words), frozenset(b.words)
    if not (one <= other or other <= one) or not (a.turns <= b.turns or b.turns <= a.turns):
        return True
    # "From Oslo to Rome" is not "to Oslo from Rome".
    if any(a.roles[word] != b.roles[word] for word in a.roles.keys() & b.roles.keys()):
        return True
    # "Ann owes Bob" is neither "Bob owes Ann" nor "Ann is owed by Bob", but "Bob is owed by Ann".
    swapped = a.passive != b.passive
    if _in_order(a.order, b.order) == swapped or (swapped and _same_pronouns(a.order, b.order)):
        return True
    return are_spelled_apart(a.text, b.text)


def _same_pronouns(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two sequences have the same pronouns, at least two, in the same order."""
    first, second = ([word for word in each if word in lex.PRONOUNS] for each in (one, other))
    return first == second and len(set(first)) > 1


def _in_order(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether the longer sequence has all words of the shorter, in order."""
    shorter, longer = sorted((one, other), key=len)
    rest = iter(longer)
    return all(word in rest for word in shorter)


def _find_all(a: StatementFeatures, b: StatementFeatures) -> list[Finding]:
    findings: list[Finding] = []
    for x, y in product(a.statements, b.statements):
        valued = bool(x.values and y.values)
        if not (valued or _may_conflict(x, y)) or a.bag.isdisjoint(b.bag):
            continue
        common = x.bag & y.bag
        if not (common or valued) or _subjects_differ(x, y, common) or _conditions_differ(x, y):
            continue
        pair = _Pair(x, y, a, b, common)
        found = _apply_rules(pair, valued)
        # Both may hold, each at its time or of its subject.
        if found and (_times_tell(pair, found) or _numbered_apart(x, y) or _subjects_tell(x, y)):
            found = [("possible", signal, measure) for _, signal, measure in found]
        findings += found
    return findings


def _may_conflict(x: Statement, y: Statement) -> bool:
    """Return whether any rule but ``_values`` can apply: a cheap test that most pairs fail."""
    if x.denied != y.denied:
        return x.bag == y.bag or len(x.bag & y.bag) + _shared_dates(x, y) > 1
    return (
        x.first == y.first
        or (x.personal and y.personal)
        or bool(x.posts and y.posts)
        or ((x.changed or y.changed) and len(x.bag & y.bag) >= MIN_SUBJECT_TERMS)
        or not (x.opposed.isdisjoint(y.bag) and y.opposed.isdisjoint(x.bag))
    )


def _details(a: StatementFeatures, b: StatementFeatures) -> list[Finding]:
    """Find what differs in texts of equal words: ">= 2" and "<= 2", "all pass" and "some pass"."""
    if a.main_words != b.main_words or a.figures != b.figures:
        return []
    if abs(len(a.words) - len(b.words)) > MAX_REPLACED:
        return []
    found = [_sign(a, b)]
    if not all(any(s.vague for s in each.statements) for each in (a, b)):
        found += [_quantifier(a, b), _role(a, b)]
    return [each for each in found if each is not None]


def _quantifier(a: StatementFeatures, b: StatementFeatures) -> Finding | None:
    one, two = (" ".join(sorted(x.quantifiers - y.quantifiers)) for x, y in ((a, b), (b, a)))
    return ("possible", "quantity", f"{one} / {two}") if one or two else None


def _role(a: StatementFeatures, b: StatementFeatures) -> Finding | None:
    for word in sorted(a.roles.keys() & b.roles.keys()):
        one, two = a.roles[word] - b.roles[word], b.roles[word] - a.roles[word]
        if any(pair <= one | two and pair & one and pair & two for pair in lex.OPPOSITE_ROLES):
            return "possible", "direction", f"{' '.join(sorted(one))} / {' '.join(sorted(two))}"
    return None


def _sign(a: StatementFeatures, b: StatementFeatures) -> Finding | None:
    # A text may spell a number, and "$5" as "5 dollars".
    spelled = lex.MEASURES if a.amounts == b.amounts else frozenset()
    told, others = (
        Counter(s for s in each.signs if s not in spelled and not (s[0] + s[-1]).isdigit())
        for each in (a, b)
    )
    one, two = " ".join((told - others).elements()), " ".join((others - told).elements())
    if not (one and two) and EMOJI.sub("", one + two).strip() in ("", "?"):
        return None  # emoji in one text alone adorn the text
    return "possible", "sign", f"{one} / {two}"


def _apply_rules(pair: _Pair, valued: bool) -> list[Finding]:
    # A denial denies all words, so other rules would report the same words again.
    rules = (_denial,) if pair.x.denied != pair.y.denied else _BOTH_SAY
    found = [each for rule in rules if (each := rule(pair)) is not None]
    return [*found, *_values(pair)] if valued else found


def _times_tell(pair: _Pair, found: list[Finding]) -> bool:
    """Return whether the statements are about different times, such as January and June.

    A time that is itself in conflict tells nothing.
    """
    if _DATED.issuperset(signal for _, signal, _ in found):
        return False
    x, y = _times(pair.x), _times(pair.y)
    return any(x[kind].isdisjoint(y[kind]) for kind in x.keys() & y.keys())


def _times(statement: Statement) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for value in statement.values:
        if value.kind in lex.TIMES:
            found.setdefault(value.kind, set()).add(value.amount)
    return found


def _subjects_differ(x: Statement, y: Statement, common: frozenset[str]) -> bool:
    """Return whether the subjects differ: "Ann likes tea", "Bob likes tea".

    Possessions of the user count as subjects, too: "my cat", "my dog".
    """
    # "Someone left" may be about anybody, so the words after the subject decide.
    if x.vague or y.vague or not (x.terms and y.terms):
        return False
    # "Host1 is down", "host2 is down"; but one of "web1" and "web2" is the main server.
    if x.name and y.name and x.name != y.name:
        return lex.POSTS.isdisjoint(common - {x.first})
    single_post = not lex.POSTS.isdisjoint(common)
    # "Ticket 3 waits", "ticket 4 waits".
    named = x.numbered and y.numbered and x.number != y.number and not single_post
    if named and x.bag - {x.number} == y.bag - {y.number}:
        return True
    # "Order 12" and "order 13" differ by the number, though most words are shared.
    if x.label and y.label and x.label != y.label and not single_post:
        return x.bag != y.bag or lex.SINGLE_VALUED.isdisjoint(common)
    if (x.personal or y.personal) and not (x.owned and y.owned):
        return False
    return x.first not in y.bag and y.first not in x.bag and not single_post


def _numbered_apart(x: Statement, y: Statement) -> bool:
    """Return whether numbers tell two subjects: "version 1 has tabs", "version 2 has trees"."""
    if not (x.number and y.number) or x.number == y.number:
        return False
    one, other = ({v.amount for v in s.values if v.told != s.number} for s in (x, y))
    return x.bag - {x.number} != y.bag - {y.number} or one != other


def _subjects_tell(x: Statement, y: Statement) -> bool:
    """Return whether the subjects differ in a word of each: "host alpha has", "host beta has"."""
    return bool(x.subject & y.subject and x.subject - y.bag and y.subject - x.bag)


def _conditions_differ(x: Statement, y: Statement) -> bool:
    """Return whether the conditions differ: "if it rains, we stay", "if it is dry, we go"."""
    one, other = x.condition, y.condition
    return bool(one and other and one - y.bag and other - x.bag)


def _owners_differ(pair: _Pair, shared: frozenset[str]) -> bool:
    """Return whether a shared word has different owners: "area problems", "card problems"."""
    before, other = pair.x.before, pair.y.before
    return any(
        (p := before.get(term)) is not None
        and (q := other.get(term)) is not None
        and p != q
        and p not in pair.b.bag
        and q not in pair.a.bag
        for term in shared
    )


def _same_subject(x: Statement, y: Statement) -> bool:
    """Say whether both are about the speaker, or both about nobody in particular."""
    return (x.personal and y.personal) or (x.vague and y.vague)


def _is_passing(pair: _Pair) -> bool:
    """Return whether either statement is about nobody in particular, or about a passing action."""
    x, y = pair.x, pair.y
    return x.vague or y.vague or ((x.event or y.event) and not (x.personal and y.personal))


def _denial(pair: _Pair) -> Finding | None:
    """Find a denial of a statement; a denied special case leaves the general case standing."""
    denied, said = (pair.x, pair.y) if pair.x.denied else (pair.y, pair.x)
    # "Black and without sugar" denies nothing of "black".
    if denied.scope.isdisjoint(said.bag) and denied.bag != said.bag:
        return None
    # "Not before Friday" denies nothing of Friday.
    is_bounded = not _BOUNDS.isdisjoint(pair.a.turns ^ pair.b.turns)
    words, dates = len(pair.common), 0 if is_bounded else _shared_dates(denied, said)
    # One shared word or date is a shared topic, not a shared claim.
    if words + dates < 2 and not (denied.bag == said.bag and _same_subject(denied, said)):
        return ("possible", "denial", pair.overlap) if _is_cancelled(denied, said) else None
    size = len(denied.bag) + (len(denied.values) if dates else 0)
    most = words + dates >= MOST_SHARED * size
    if (most or _is_denied_whole(pair, denied, said)) and not _owners_differ(pair, pair.common):
        return "likely", "denial", pair.overlap
    # Words before the denial belong to the subject; only words after are denied.
    covered = len(denied.scope & said.bag) >= HALF_SHARED * len(denied.scope)
    if covered or pair.overlap >= HALF_SHARED:
        return "possible", "denial", pair.overlap
    return None


def _shared_dates(x: Statement, y: Statement) -> int:
    """Return how many days and times both statements name: "never on Fridays", "every Friday"."""
    if not (x.values and y.values):
        return 0
    one, other = ({(v.kind, v.amount) for v in z.values if v.kind in _DATED} for z in (x, y))
    return len(one & other)


def _is_denied_whole(pair: _Pair, denied: Statement, said: Statement) -> bool:
    """Return whether all that is denied is said: "moved to Oslo, no longer in Lyon"."""
    if not denied.scope or not denied.scope <= said.bag or _is_passing(pair):
        return False
    return pair.common > denied.scope or (denied.personal and said.personal)


def _is_cancelled(denied: Statement, said: Statement) -> bool:
    """Return whether a statement of an end denies the values: "cancelled" against "at three"."""
    named = bool(said.bag) and said.bag.isdisjoint(lex.RELATIONS)
    return named and denied.bag == said.bag and bool(said.values)


def _opposite(pair: _Pair) -> Finding | None:
    """Find a word in one statement that excludes a word in the second."""
    x, y = pair.x, pair.y
    if x.opposed.isdisjoint(y.bag) and y.opposed.isdisjoint(x.bag):
        return None
    only_x, only_y = x.bag - pair.common, y.bag - pair.common
    found = next((term for term in sorted(only_x) if not opposites(term).isdisjoint(only_y)), None)
    if found is None:
        return None
    named = f"{found} / {min(opposites(found) & only_y)}"
    rest = min(len(x.bag), len(y.bag)) - 1  # the opposites themselves cannot be shared
    if len(pair.common) >= MOST_SHARED * rest and not _is_passing(pair):
        return "likely", "opposite", named
    return ("possible", "opposite", named) if len(pair.common) >= HALF_SHARED * rest else None


def _swap(pair: _Pair) -> Finding | None:
    """Find an exchanged word in statements that agree otherwise."""
    x, y = pair.x, pair.y
    # A cheap bound before the comparison in order; one more word may be "new".
    if max(len(x.bag), len(y.bag)) > len(pair.common) + MAX_REPLACED + 1:
        return None
    # Without a common beginning or a post, nothing says that only one of the words can hold.
    if x.first != y.first and lex.POSTS.isdisjoint(pair.common):
        return None
    terms, others = _without_new(x.terms), _without_new(y.terms)
    one, two, start = _replaced_terms(terms, others)
    if not one or not two or x.vague or y.vague or x.added or y.added:
        return None
    measures = lex.MEASURE_TERMS.issuperset(one + two)
    # Other rules compare numbers and units.
    if measures and (x.amounts != y.amounts or any(v.unit for v in x.values)):
        return None
    # The same words in a new order differ only by roles: "tea over coffee".
    if sorted(one) == sorted(two) and not _roles_differ(pair, one):
        return None
    if len(one) > 1 and len(two) > 1 and _uses_differ(pair, one[-1], two[-1]):
        return None
    kept = len(terms) - len(one)
    exclusive = _is_exclusive(terms[:start], terms[start + len(one) :], len(one) == len(two) == 1)
    names = pair.a.names.issuperset(one) and pair.b.names.issuperset(two)
    # One common word rarely says what both are about.
    if kept < 2 and not _has_subject(pair, exclusive, names, one + two):
        return None
    # Subjects, passing actions and numbers may differ while both statements hold.
    if not exclusive and (start == 0 or _is_passing(pair) or x.amounts != y.amounts):
        return None
    # Unspaced scripts are split into short pieces, so a name may take several.
    unspaced = not one[0].isascii() and len(one[0]) <= 2
    verbs = not lex.RELATIONS.isdisjoint(one + two)
    if max(len(one), len(two)) > 1 + ((names or exclusive) and not verbs) + 2 * unspaced:
        return None
    named = f"{' '.join(one)} / {' '.join(two)}"
    # "Likes tea" and "likes coffee" may both hold.
    several = not exclusive and not lex.MULTI_VALUED.isdisjoint(pair.common)
    sure = exclusive or ((names or kept >= MIN_SUBJECT_TERMS) and not several)
    return ("likely" if sure else "possible"), "value", named


def _roles_differ(pair: _Pair, terms: tuple[str, ...]) -> bool:
    """Return whether a term changes roles: "from Oslo to Rome", "tea over coffee"."""
    one, other = pair.a.roles, pair.b.roles
    return any(one.get(term) != other.get(term) for term in terms)


def _uses_differ(pair: _Pair, one: str, other: str) -> bool:
    """Tell "Postgres for data" from "Redis for caching", but not "Lyon in France"."""
    role = pair.a.roles.get(one)
    named = one in pair.a.names and other in pair.b.names
    return role is not None and role == pair.b.roles.get(other) and not named


def _without_new(terms: tuple[str, ...]) -> tuple[str, ...]:
    """Remove words that only say that something is different: "my new car"."""
    return tuple(term for term in terms if term != "new") if "new" in terms else terms


def _has_subject(pair: _Pair, exclusive: bool, names: bool, changed: tuple[str, ...]) -> bool:
    """Return whether a single word names the subject of both: "the office is in", "I live in".

    No word is enough for "I am vegan".
    """
    x, y = pair.x, pair.y
    if x.being and y.being and any(kind.issuperset(changed) for kind in lex.KINDS):
        return True
    if lex.SPEAKER_TERM in pair.common:
        return False
    return (exclusive and x.personal and y.personal) or (names and x.being and y.being)


def _renamed(pair: _Pair) -> Finding | None:
    """Find a new name of a unique thing: "my current employer, Initech"."""
    if not (pair.x.personal and pair.y.personal):
        return None
    x, y = pair.x.terms, pair.y.terms
    for post in sorted(lex.UNIQUE & pair.common):
        one, two = x[x.index(post) :], y[y.index(post) :]
        at = _agreement(one, two)
        go_on = 1 < at < min(len(one), len(two))
        if go_on and one[at] in pair.a.names and two[at] in pair.b.names:
            return "likely", "value", f"{one[at]} / {two[at]}"
    return None


def _agreement(s: Sequence[str], t: Sequence[str]) -> int:
    """Return the number of terms at the beginning that are equal in both sequences."""
    pairs = zip(s, t, strict=False)
    differing = (place for place, (one, two) in enumerate(pairs) if one != two)
    return next(differing, min(len(s), len(t)))


def _is_exclusive(before: tuple[str, ...], after: tuple[str, ...], single: bool) -> bool:
    """Return whether the words between name something unique: "live in", "lead".

    A post needs the object: "the main language is" is unique, "the main" is not. Words after count
    for a *single* word only: "moved the party to" and "booked" are no values of "the main hall".
    """
    if not before:
        return not lex.POSTS.isdisjoint(after)
    told = frozenset(before[:-1] if before[-1] in lex.POSTS else before)
    if single and len(before) + len(after) >= MIN_SUBJECT_TERMS:
        told |= frozenset(after)
    return not lex.SINGLE_VALUED.isdisjoint(told)


def _replaced_terms(
    s: tuple[str, ...], t: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Remove the common beginning and end of two sequences; return the middles and their starts."""
    start = _agreement(s, t)
    end = _agreement(s[start:][::-1], t[start:][::-1])
    return s[start : len(s) - end], t[start : len(t) - end], start


def _change(pair: _Pair) -> Finding | None:
    """Find an announcement of something new about the subject of both."""
    told = (pair.x.changed or pair.y.changed) and pair.x.bag != pair.y.bag
    if told and len(pair.common) >= MIN_SUBJECT_TERMS and pair.overlap >= HALF_SHARED:
        return "possible", "change", pair.overlap
    return None


def _values(pair: _Pair) -> Iterator[Finding]:
    """Find a number, date or time that differs between the two texts."""
    for v in pair.x.values:
        # A value anywhere in the second text is no contradiction: the texts agree on the value.
        if (v.kind, v.amount) in pair.b.amounts:
            continue
        for w in pair.y.values:
            if w.kind == v.kind and (w.kind, w.amount) not in pair.a.amounts:
                tier = _value_tier(pair, v, w)
                if tier is not None:
                    units = (f" {v.unit}", f" {w.unit}") if v.unit != w.unit else ("", "")
                    yield tier, v.kind, f"{v.told}{units[0]} / {w.told}{units[1]}"


def _value_tier(pair: _Pair, v: Value, w: Value) -> Tier | None:
    shared = v.near & w.near
    if v.kind == "identifier" and v.unit != w.unit:
        return None
    if not shared or _count_different_things(pair, v, w, shared):
        return None
    # The name of a person or firm alone says nothing on what is counted, unless no text says more.
    same = v.head == w.head and (v.near <= w.near or w.near <= v.near)
    if not same and shared <= pair.a.names | pair.b.names:
        return None
    # Words near a number say what is counted; the rest of the statement may be about more.
    count, share = len(shared), len(shared) / min(len(v.near), len(w.near))
    headed = bool(v.head) and v.head == w.head
    close = share >= MOST_SHARED or headed or (share >= HALF_SHARED and count > 2)
    if (v.near == w.near or (close and count > 1)) and not (pair.x.vague or pair.y.vague):
        return "likely"
    return "possible" if count > 1 or headed else None


def _count_different_things(pair: _Pair, v: Value, w: Value, shared: frozenset[str]) -> bool:
    """Say whether two values count different things, or belong to different names."""
    if v.per and w.per and v.per != w.per:
        return True
    if v.head and w.head and v.head not in w.near and w.head not in v.near:
        return True
    named = (v.near - pair.b.bag) & pair.a.names and (w.near - pair.a.bag) & pair.b.names
    return bool(named) or _owners_differ(pair, shared)


_Rule: TypeAlias = Callable[[_Pair], Finding | None]
_BOTH_SAY: Final[tuple[_Rule, ...]] = (_opposite, _swap, _renamed, _change)
