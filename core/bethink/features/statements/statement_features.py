"""The features of a text's statements, extracted once for many comparisons."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeAlias, TypeVar

from ...model.patterns import lazy_pattern
from ...text import MONTHS, PICTURES, stem, words
from . import lexicon as lex
from .changes import rewrite_changes

_T = TypeVar("_T")
_Reading: TypeAlias = tuple[str, str, str, str]

_MAX_CHARS: Final = 16_384
_MAX_STATEMENTS: Final = 32
_MAX_NUMBERS: Final = 4
_NEAR_TERMS: Final = 6

_FENCED = lazy_pattern(r"```.*?(?:```|\Z)", re.DOTALL)
# Phrases with a denial that deny nothing.
_IDIOMS = lazy_pattern(
    r"\b(?:not (?:only|just|sure|yet sure|necessarily|to mention)|(?:why|or|if) not"
    r"|no (?:problem|worries|doubt|matter|idea|way)|can'?t wait"
    r"|(?:do not|don't) (?:know|forget|worry|hesitate|mind)|so far)\b|(?:^|[.!?]\s+)no,"
)
_CEASED = lazy_pattern(
    r"\b(?:used to\b(?<!is used to)(?<!are used to)(?<!was used to)(?<!were used to)"
    r"(?<!be used to)|no longer\b|(?:stop(?:s|ped)?|quit|ceased) (?=\w+ing\b))"
)
# Words that deny a following word, each of a different kind.
_ENDED = lazy_pattern(
    r"\b(?:gave|giv(?:e|es|en|ing)) up (?=\w+ing\b)|\b(?:called|broke) off\b|\bbroke up with\b"
    r"|\b(?:(?:got|was|been) )?(?:laid off|fired|resigned|retired|discharged) from\b"
    r"|\b(?:fail(?:s|ed)?|refuse[sd]?|forg[eo]ts?|(?:is|are|was|were) unable) to\b"
    r"|\black(?:s|ed)?\b|\b(?:avoid(?:s|ed)?|skip(?:s|ped)?|put off) (?=\w+ing\b)"
    r"|\bgot rid of\b|\bsold (?=(?:my|our|his|her|their)\b)"
)
_BASED = lazy_pattern(r"\bbased in\b")
_CALLED = lazy_pattern(r"\b(is|are|was|were|am|be|been) called\b")
_OFF = lazy_pattern(r"\b(?:is|are|was|were|be|turned|switched|set to|kept?) off\b")
_ENDS = lazy_pattern(
    r"[.!;\n]+(?=\s|$)|(?<=\?)(?=\s)|[\u3002\uff01\uff1f\uff1b\n]+| [-\u2013\u2014] |,? but "
    r"|, (?=(?:and|so|or|because|since|although|though|while|i|we|he|she|it|they|you|can|could|do"
    r"|also|especially|how|what) )| because | although "
)
_ADDRESS = lazy_pattern(r"[^\W_][\w.+-]{0,63}@[\w-]+(?:\.[\w-]+)+")
# "us-east-1", "node_04", "v1.2", "a1b2c3d"; not "one-way" and "q1".
_IDENTIFIER: Final = (
    r"(?<![\w.-])(?=[\w.-]{1,64}\d)"
    r"(?:[^\W\d_][^\W_]*(?:[-._][^\W_]+)+|(?:[^\W\d_]+\d+){2}[^\W_]*)"
)
# Most tokens are plain words, so the pattern tries plain words first.
_TOKENS = lazy_pattern(
    rf"[^\W\d_]+(?![\w'.@+-])|{_ADDRESS.pattern}|{_IDENTIFIER}|(?:(?<![^\s(])-)?\d+(?:[.,:]\d+)*"
    r"|[^\W\d_]+(?:'[^\W\d_]+)*|[%$\u20ac\u00a3\u00a5]"
)
_MILLION = lazy_pattern(r"(?<=\d) ?M\b")
_SEGMENTS = lazy_pattern(r"[^\W_]+")
# A word without a capital before excludes headings: all words of a heading look like names.
_NAMES = lazy_pattern(r"(?:\b[^\W\d_A-Z]\w*'?|[,'\"]) ((?:[A-Z][^\W\d_]+ ?)+)")
_OWNED = lazy_pattern(r"\W*(?:my|our|(?:the )?user's) ")
_CONDITION = lazy_pattern(r"\W*(?:if|when|whenever|unless|for|in|on|during) [^,]*, ")
# "Order 12 is", "Server A has", "Run 3:", "Q1 sales", but not "Python 3.9 is" and "v2 is".
_LABEL = lazy_pattern(
    r"\W*(?:(?:the|our|my) )?(?:(?!v\d)[^\W\d_]+\d+(?= )"
    rf"|(?:[^\W\d_]+[ #]+){{1,2}}(?:\d+|[a-z]|{_IDENTIFIER})"
    r"(?= (?:is|are|was|were|has|had|will|ends|starts)\b|:))"
)
_UNSPACED_DENIAL = lazy_pattern(lex.UNSPACED_DENIALS)
_QUOTES: Final = str.maketrans(
    {"\u2212": "-"}
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
)
EMOJI = lazy_pattern(f"[{PICTURES}][\ufe0e\ufe0f\u200d]*")
_AFTER_EMOJI: Final = " \t\n.!"
# Numbers with their sign and unit, signs and emoji.
_SIGNS = lazy_pattern(
    r"!=|(?:(?<![^\s(])[-+\u2212])?\d+(?:[.,:]\d+)*(?:['\"]|[^\W\d_]*)"
    rf"|[?$%&@+=<>/\\^|#*~\u00b0\u00b1\u00d7\u00f7\u20ac\u00a3\u00a5{PICTURES}]"
)
# Options, paths, keys, names with "_", grades, letters ("plan b"), "!ready"; lone signs.
EXACT_NAMES: Final = lazy_pattern(
    r"(?<!\S)--?[^\W\d_][\w-]*|/\.?[^\s)\".,;:!?]+|\b[^\W\d_](?=\w*\d)\w{4,}"
    r"|\b[A-Z][-\u2212](?!\S)|(?<!\S)[.,;:](?!\S)|\b[^\W_]+_\w+"
    r"|(?<=[a-z] )[A-HJ-Zb-hj-z](?![\w'])|(?<![\w!])!(?=\w)|(?<=\w )[-\u2212](?= \d)"
)
_DATE = lazy_pattern(r"\b((?:19|20)\d\d)-(0[1-9]|1[0-2])-([0-3]\d)\b")
_SINGLE = lazy_pattern(r"\ba single\b")
_EMPTY_SET: Final = frozenset[Any]()
_ROLE_SETS = {role: frozenset((role,)) for role in lex.ROLES}
_THOUSANDS = lazy_pattern(r"(?<=\d),(?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Value:
    """A number, date, time or identifier, the counted term (``head``), and the terms ``near``.

    ``amount`` is the size in the basic unit of the kind, ``told`` the number as written and
    ``unit`` the unit; of an identifier, the shape, such as "a-a-0". ``per`` is the time of a rate,
    as in "per minute".
    """

    kind: str
    amount: str
    told: str
    unit: str
    head: str
    near: frozenset[str]
    per: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: the content terms in order, and the form.

    ``first`` is the first term except "new", ``posts`` are terms for things with one holder at a
    time, ``opposed`` are terms that exclude a term of the statement, ``scope`` the terms after the
    denial; ``before`` has the term right before each. ``vague``: about nobody in particular;
    ``event``: going on; ``personal``: about the speaker or user; ``being``: about the nature or
    place of something; ``owned``: about a possession; ``label``: the numbered subject; ``number``:
    the number or letter after the first words, ``numbered`` if a name, as of a ticket; ``subject``:
    the terms before a form of "be" or "have"; ``added``: an addition; ``condition``: the terms of
    an opening "if" or "for".
    """

    terms: tuple[str, ...]
    first: str
    bag: frozenset[str]
    posts: frozenset[str]
    opposed: frozenset[str]
    scope: frozenset[str]
    before: Mapping[str, str]
    values: tuple[Value, ...]
    denied: bool
    changed: bool
    vague: bool
    event: bool
    personal: bool
    being: bool
    owned: bool
    label: str
    number: str
    numbered: bool
    subject: frozenset[str]
    added: bool
    condition: frozenset[str]

    @property
    def amounts(self) -> list[tuple[str, str]]:
        """Give the values by kind and amount alone, sorted."""
        return sorted((value.kind, value.amount) for value in self.values)


@dataclass(frozen=True, slots=True)
class StatementFeatures:
    """The statements of a text, and the content of the whole text, questions and code included.

    ``words`` are the content terms in order, in ``order`` with the pronouns, ``main_words`` the
    words without units and quantifiers, ``figures`` the numbers and dates; ``turns`` are
    little words that turn a sentence around ("into", "off"), ``roles`` the prepositions before each
    word ("from", "to"); ``denials`` counts denials, in idioms, too ("I don't know"); ``personal``:
    about the speaker. ``text`` has straight quotes, and no ``emoji`` at the end.
    """

    statements: tuple[Statement, ...]
    bag: frozenset[str]
    amounts: frozenset[tuple[str, str]]
    names: frozenset[str]
    words: tuple[str, ...]
    order: tuple[str, ...]
    main_words: tuple[str, ...]
    figures: tuple[str, ...]
    turns: frozenset[str]
    roles: Mapping[str, frozenset[str]]
    denials: int
    passive: bool
    personal: bool
    quantifiers: frozenset[str]
    text: str
    emoji: str

    @property
    def signs(self) -> tuple[str, ...]:
        """The signs, numbers with sign and unit, single letters and exact names, sorted."""
        return _find_signs(self.text)


def extract_features(text: str) -> StatementFeatures:
    """Extract the features of a text; of a long text, only the first statements count."""
    told, emoji = split_emoji(straighten_quotes(_MILLION.sub(" million", text)))
    text = unicodedata.normalize("NFKC", told)
    folded = text.casefold()
    # "Not only" and "no problem" deny nothing, so idioms go before denials are found.
    stating = _IDIOMS.sub(" ", folded)
    lower = _rewrite_phrases(stating)
    statements = tuple(_statements(_rewrite_endings(lower[:_MAX_CHARS])))
    tokens = list(_tokens(lower))
    # Denials in idioms still count: without "I don't know" the text says something else.
    whole = tokens if stating == folded else _tokens(_rewrite_phrases(folded))
    figures = tuple(filter(None, map(_figure, tokens)))
    bag = _union([s.bag for s in statements])
    if not bag and set(_find_signs(told)) > set(figures):  # ">= 2" has no word but is about 2
        bag = _set(figures)
    order = tuple(t for token in tokens if (t := token if token in lex.PRONOUNS else _term(token)))
    terms = order if lex.PRONOUNS.isdisjoint(order) else tuple(filter(None, map(_term, tokens)))
    return StatementFeatures(
        statements=statements,
        bag=bag,
        amounts=_set((v.kind, v.amount) for s in statements for v in s.values),
        # Names are found by capital letters, so in the text before folding.
        names=_set(map(_term, _find_names(text).casefold().split())),
        words=terms,
        order=order,
        main_words=tuple(term for term in terms if term not in lex.DETAIL_TERMS),
        figures=figures,
        turns=_set(lex.PARTICLES.intersection(tokens)),
        roles=_roles(tokens),
        denials=sum(token in lex.DENIALS for token in whole),
        passive="by" in tokens,
        personal=not lex.FIRST_PERSON.isdisjoint(tokens),
        quantifiers=_set(lex.QUANTIFIERS.intersection(tokens)),
        text=told,
        emoji=emoji,
    )


@lru_cache(maxsize=1024)
def _find_signs(text: str) -> tuple[str, ...]:
    signs = map(str.casefold, _SIGNS.findall(_THOUSANDS.sub("", text)))
    return tuple(sorted((*signs, *EXACT_NAMES.findall(text))))


def straighten_quotes(text: str) -> str:
    """Return *text* with straight quotes only."""
    return text if text.isascii() else text.translate(_QUOTES)


def split_emoji(text: str) -> tuple[str, str]:
    """Split a text into the text and the emoji at the end.

    Emoji in the place of a word stay: "the status is \u2705", "ticket 5 \u2705".
    """
    if text.isascii():
        return text, ""
    end = next((i for i in range(len(text), 0, -1) if text[i - 1].isalnum()), 0)
    said, tail = text[:end].split(), text[end:]
    emoji = "".join(EMOJI.findall(tail))
    told = len(said) > 1 and said[-1][-1].isalpha() and said[-1].lower() not in lex.UNFINISHED
    if not (emoji and told) or EMOJI.sub("", tail).strip(_AFTER_EMOJI):
        return text, ""
    return text[:end], emoji


def _union(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the union of *sets*; of a single set the set, which saves memory."""
    return sets[0] if len(sets) == 1 else _set(frozenset().union(*sets))


def _set(items: Iterable[_T]) -> frozenset[_T]:
    """Return the set of *items*; empty sets are shared, since most are empty."""
    return frozenset(items) or _EMPTY_SET


def _find_names(text: str) -> str:
    addresses = _ADDRESS.findall(text) if "@" in text else ()
    return " ".join((*_NAMES.findall(text), *addresses))


def _roles(tokens: Sequence[str]) -> dict[str, frozenset[str]]:
    roles: dict[str, frozenset[str]] = {}
    role = frozenset[str]()
    for token in tokens:
        if token in _ROLE_SETS:
            role = _ROLE_SETS[token]
        elif role and (named := _term(token) or _figure(token)):
            roles[named] = roles[named] | role if named in roles else role
            role = frozenset()  # "from the old town": the preposition holds until a content word
    return roles


def _statements(lower: str) -> Iterator[Statement]:
    last: tuple[str, ...] = ()
    for part in _ENDS.split(lower)[:_MAX_STATEMENTS]:
        said = _statement(part, last)
        if said is not None:
            # A number alone, as in "Ann's age? 41.", takes the words from the statement before.
            last = said.terms[-_NEAR_TERMS:]
            yield said


def _rewrite_phrases(lower: str) -> str:
    """Replace certain phrases by one word."""
    lower = _CEASED.sub(" never ", lower)
    return _DATE.sub(_date_in_words, _SINGLE.sub(" 1 ", _OFF.sub(" not ", lower)))


def _date_in_words(date: re.Match[str]) -> str:
    return f"{MONTHS[int(date[2]) - 1]} {int(date[3])} {date[1]}"


def _rewrite_endings(lower: str) -> str:
    """Replace phrases of an ended state by one word; remove code unless all is code."""
    lower = _CALLED.sub(r"\1 named", _BASED.sub("located in", rewrite_changes(lower)))
    lower = _ENDED.sub(" never ", lower)
    spoken = _FENCED.sub(" . ", lower)
    return spoken if spoken.strip(" .\n") else lower


def _statement(part: str, last: tuple[str, ...]) -> Statement | None:
    # In unspaced scripts a denial is part of a word, so denials are cut out before the split.
    hidden = not part.isascii() and _UNSPACED_DENIAL.search(part) is not None
    tokens = list(_tokens(_UNSPACED_DENIAL.sub("", part) if hidden else part))
    if not tokens or _is_question(tokens, part.endswith("?")):
        return None
    terms = [_term(token) for token in tokens]
    told = tuple(filter(None, terms))
    values = tuple(_values(tokens, terms, last))
    if not told and not values:
        return None
    personal = not lex.SUBJECTS.isdisjoint(tokens) or _omits_subject(tokens[0])
    being = not lex.FORMS_OF_BE.isdisjoint(tokens)
    if personal and being and len(told) == 1:  # "I am vegan" is about no other word
        told = (lex.SPEAKER_TERM, *told)
    denial = _first_place(tokens, lex.DENIALS)
    bag = _set(told)
    return Statement(
        terms=told,
        first=next((term for term in told if term != "new"), ""),
        bag=bag,
        posts=_set(lex.POSTS & bag),
        opposed=_union([opposed for term in told if (opposed := _opposites(term))]),
        scope=_set(filter(None, terms[denial:])) or bag,
        before={t: b for b, t in pairwise(terms) if b and t and b not in lex.NO_OWNERS},
        values=values,
        denied=denial < len(tokens) or hidden,
        changed=any(map(_announces_change, tokens)),
        vague=tokens[0] in lex.INDEFINITE,
        event=_is_event(tokens),
        personal=personal,
        being=being,
        owned=_OWNED.match(part) is not None,
        label=_match_start(_LABEL, part),
        number=_leading_number(tokens, terms),
        numbered=_is_numbered(tokens),
        subject=_subject(tokens, terms),
        condition=_set(filter(None, map(_term, _tokens(_match_start(_CONDITION, part))))),
        added=not lex.ADDITIONS.isdisjoint(tokens)
        or part.rstrip(" .!").endswith(lex.ADDITION_ENDINGS),
    )


def _first_place(tokens: Sequence[str], words: Container[str]) -> int:
    """Return where the first of *words* stands, or the number of tokens."""
    return next((i for i, token in enumerate(tokens) if token in words), len(tokens))


def _subject(tokens: Sequence[str], terms: Sequence[str]) -> frozenset[str]:
    """Return the terms before a form of "be" or "have", except "new"; empty without the form."""
    end = _first_place(tokens, lex.AUXILIARIES)
    return _set(term for term in terms[: end % len(terms)] if term and term != "new")


def _leading_number(tokens: Sequence[str], terms: Sequence[str]) -> str:
    """Return the number or letter that may tell the subject from its like: "version 1", "plan A".

    "Ann owns 2" has none, but nobody can tell "Ann sold 2" from "version 2".
    """
    start = int(tokens[0] in lex.DETERMINERS or tokens[0] in lex.ROLES)
    for i, token in enumerate(tokens[start:4], start):
        if _is_number(token) or (len(token) == 1 and token != "i") or _is_identifier(token):
            named = i > start and not tokens[i - 1].endswith("s")
            ordinal = not lex.ORDINAL_ENDINGS.isdisjoint(tokens[i + 1 : i + 2])
            tells = (named or ordinal) and all(terms[start:i])
            return (_figure(token) or token) if tells else ""
    return ""


def _is_numbered(tokens: Sequence[str]) -> bool:
    """Return whether a statement begins with a thing with a number for a name."""
    noun, *rest = [each for each in tokens[:4] if each not in ("the", "number", "no")] or [""]
    return noun in lex.NUMBERED and bool(rest) and _is_number(rest[0])


def _is_number(token: str) -> bool:
    return token[0].isdigit() or token[0] == "-"


def _is_identifier(token: str) -> bool:
    return token.isascii() and not token.isalpha() and token[0].isalpha() and "@" not in token


def _match_start(pattern: re.Pattern[str], part: str) -> str:
    found = pattern.match(part)
    return found.group() if found else ""


def _tokens(part: str) -> Iterator[str]:
    for token in _TOKENS.findall(part):
        if not token.isascii() and token not in lex.MONEY:
            yield from words(token)
            continue
        if "'" not in token:
            yield token
            continue
        head, _, tail = token.rpartition("'")
        cut = tail in ("s", "m", "re", "ve", "ll", "d")
        yield (head if cut else token).replace("'", "")
        if cut and tail in lex.FORMS_OF_BE:
            yield tail


def in_words_of(terms: str, text: str) -> str:
    """Return *terms* as spelled in *text*; numbers and absent terms stay."""
    words = _words_by_term(text)
    return " ".join(words.get(term, term) for term in terms.split())


@lru_cache(maxsize=1024)
def _words_by_term(text: str) -> dict[str, str]:
    return {_term(token): token for token in _tokens(text[:_MAX_CHARS].casefold())}


def _is_question(tokens: list[str], marked: bool) -> bool:
    """Return whether a question begins: "do you", "what is" and, with a question mark, "is it"."""
    first = next((i for i, token in enumerate(tokens) if token not in lex.CONJUNCTIONS), 0)
    if tokens[first] in lex.QUESTIONS:
        return lex.DENIALS.isdisjoint(tokens[first + 1 : first + 2])
    return marked and tokens[first] in lex.AUXILIARIES


@lru_cache(maxsize=1 << 14)
def _figure(token: str) -> str:
    """Return the value of a number, weekday or month, or an empty string."""
    if _is_number(token):
        return _amount(token)
    return lex.NUMBERS.get(token) or lex.WEEKDAYS.get(token) or lex.MONTHS.get(token, "")


def opposites(term: str) -> frozenset[str]:
    """Return the terms that exclude *term*: opposites, and the term with a prefix more or less."""
    longer = {prefix + term for prefix in lex.PREFIXES if len(term) > 3}
    return _opposites(term) | longer


@lru_cache(maxsize=1 << 14)
def _opposites(term: str) -> frozenset[str]:
    """Return ``opposites`` without longer terms, which the other side's shorter terms cover."""
    cut = {term.removeprefix(prefix) for prefix in lex.PREFIXES}
    shorter = {rest for rest in cut if 3 < len(rest) < len(term)}
    return lex.OPPOSITES.get(term, frozenset()) | shorter


@lru_cache(maxsize=1 << 14)
def _announces_change(token: str) -> bool:
    return token.isascii() and stem(token) in lex.CHANGES


@lru_cache(maxsize=1 << 14)
def _term(token: str) -> str:
    """Give the telling term of a token, or an empty string."""
    if token in lex.NO_CONTENT or not token[0].isalpha():
        return ""
    if not token.isascii() or _is_identifier(token):
        return token
    cut = stem(token)
    return lex.SYNONYMS.get(cut, cut)


def _omits_subject(first: str) -> bool:
    """Tell a note on the user: "lives in Lisbon", "prefers tabs"."""
    return first.endswith("s") and _term(first) in lex.RELATIONS


def _is_event(tokens: Sequence[str]) -> bool:
    """Return whether an action is going on: "is cutting", against "is" and "cuts"."""
    return any(
        token.endswith("ing")
        for i, being in enumerate(tokens)
        if being in lex.FORMS_OF_BE
        for token in tokens[i + 1 : i + 4]
    )


def _values(tokens: list[str], terms: list[str], last: tuple[str, ...]) -> Iterator[Value]:
    """Yield the values of a statement; *last* is the subject of the statement before.

    Numbers in rows are sums and lists, and not the subject of a statement.
    """
    named = [
        (i, *value)
        for i, token in enumerate(tokens)
        if not (token.isalpha() and token not in lex.VALUES) and (value := _parse_value(tokens, i))
    ]
    if sum(kind in lex.COUNTED for _, kind, *_ in named) > _MAX_NUMBERS:
        named = [value for value in named if value[1] not in lex.COUNTED]
    # A unit belongs to the amount and names no thing, so a unit is no content.
    content = ["" if t in lex.MEASURES else term for t, term in zip(tokens, terms, strict=True)]
    places = [i for i, term in enumerate(content) if term]
    for i, kind, amount, number, unit in named:
        at = bisect_left(places, i)
        around = places[max(at - _NEAR_TERMS, 0) : at + _NEAR_TERMS]
        near = frozenset(content[j] for j in around if j != i)
        head = next(filter(None, content[i + 1 : i + 3]), "") if kind in lex.COUNTED else ""
        near = near if len(near) > 1 else near.union(last)
        yield Value(kind, amount, number, unit, head, near, _per(tokens, i))


def _per(tokens: list[str], i: int) -> str:
    """Return the unit of the value at a place, or an empty string."""
    for per, unit in pairwise(tokens[i + 1 : i + 5]):
        if per in ("per", "a", "an", "each", "every") and unit in lex.UNITS:
            return stem(unit)
    return ""


def _parse_value(tokens: list[str], i: int) -> _Reading | None:
    """Return kind, amount, number and unit of the value at a place; see ``Value``."""
    token = lex.NUMBERS.get(tokens[i], tokens[i])
    if token in lex.WEEKDAYS:
        return _date("weekday", lex.WEEKDAYS[token])
    before, (after, then) = tokens[i - 1] if i else "", (*tokens[i + 1 : i + 3], "", "")[:2]
    if token in lex.MONTHS:
        sure = token != "may" or before in ("in", "of") or before.isdigit() or after.isdigit()
        return _date("month", lex.MONTHS[token]) if sure else None
    if _is_identifier(token):
        return "identifier", token, token, _SEGMENTS.sub(_shape, token)
    if not _is_number(token) or "ago" in (after, then):  # "two days ago": a new day every day
        return None
    amount = _amount(token)
    if (month := _month(tokens, i)) and len(amount) < 3:
        return _date("day", f"{month} {amount}")
    if after in lex.HOURS or ":" in token:
        return _date("time", _clock(token, after))
    return _measure(amount, before, after, then)


def _date(kind: str, amount: str) -> _Reading:
    return kind, amount, amount, ""


def _shape(segment: re.Match[str]) -> str:
    return "a" if segment[0].isalpha() else "0" if segment[0].isdigit() else "x"


def _measure(amount: str, before: str, after: str, then: str) -> _Reading:
    """Return kind, amount, number and unit of a number between the given tokens."""
    scale = lex.SCALES.get(after, 1.0)
    if after == "m" and before not in lex.MONEY and then not in lex.MONEY:
        scale = 1.0  # meters
    if scale > 1:
        amount, after = _scale(amount, scale), then
    if money := lex.MONEY.get(before) or lex.MONEY.get(after):
        return "money", f"{amount} {money}", amount, money
    if scale == 1 and len(amount) == 4 and amount.isdigit() and amount[:2] in ("19", "20"):
        return _date("year", amount)
    if after in lex.SHARES:
        return _date("percent", amount)
    kind, size = lex.UNITS.get(after, ("number", 1.0))
    return kind, _scale(amount, size), amount, after if kind != "number" else ""


def _scale(amount: str, factor: float) -> str:
    try:
        return amount if factor == 1 else f"{float(amount) * factor:.15g}"
    except ValueError:
        return amount


def _clock(token: str, half: str) -> str:
    """Return a time of day on the 24-hour clock."""
    hour, _, rest = token.partition(":")
    if not hour.isdecimal():
        return token
    hours = int(hour) % 12 + 12 * (half == "pm") if half in ("am", "pm") else int(hour)
    return f"{hours}:{rest or '00'}"


def _month(tokens: list[str], i: int) -> str:
    """Name the month beside a number, as in "5th of May" and "May 5"."""
    after = [token for token in tokens[i + 1 : i + 4] if token not in lex.ORDINALS][:1]
    return next(
        (lex.MONTHS[t] for t in (*tokens[max(0, i - 1) : i], *after) if t in lex.MONTHS), ""
    )


def _amount(token: str) -> str:
    plain = _THOUSANDS.sub("", token)
    try:
        return str(int(plain)) if plain.isdecimal() else f"{float(plain):.15g}"
    except ValueError:
        return plain
