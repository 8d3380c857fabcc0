"""The features of a text's statements, extracted once for many comparisons."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeVar

from ...model.patterns import lazy_pattern
from ...text import MONTHS, PICTURES, stem, words
from . import lexicon as lex
from .changes import rewrite_changes
from .values import NEAR_TERMS, THOUSANDS, Value, figure, find_values, is_identifier, is_number

_T = TypeVar("_T")

_MAX_CHARS: Final = 16_384
_MAX_STATEMENTS: Final = 32

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
# A title ends no sentence.
_TITLE = lazy_pattern(r"\b(Dr|Mr|Mrs|Ms|Prof)\.(?= [A-Z])")
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
# A word without a capital before excludes headings: all words of a heading look like names.
_NAMES = lazy_pattern(r"(?:\b[^\W\d_A-Z]\w*'?|[,'\"]) ((?:[A-Z][^\W\d_]+ ?)+)")
_FIRST_NAME = lazy_pattern(r"^(?:[A-Z][^\W\d_]+ )+[A-Z][^\W\d_]+(?=[: ]|'s)")
_OWNED = lazy_pattern(r"\W*(?:my|our|(?:the )?user's) ")
_CONDITION = lazy_pattern(r"\W*(?:if|when|whenever|unless|for|in|on|during) [^,]*, ")
# "Order 12 is", "Server A has", "Run 3:", "Q1 sales", but not "Python 3.9 is" and "v2 is".
_LABEL = lazy_pattern(
    r"\W*(?:(?:the|our|my) )?(?:(?!v\d)[^\W\d_]+\d+(?= )"
    rf"|(?:[^\W\d_]+[ #]+){{1,2}}(?:\d+|[a-z]|{_IDENTIFIER})"
    r"(?= (?:is|are|was|were|has|had|will|ends|starts)\b|:))"
)
_NUMBERED_NAME = lazy_pattern(r"\W*(?:the )?(?:(?P<noun>[^\W\d_]+) )?(?!v\d)[^\W\d_]+\d+(?![\w.])")
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


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: the content terms in order, and the form.

    ``first`` is the first term except "new", ``posts`` are terms for things with one holder at a
    time, ``opposed`` are terms that exclude a term of the statement, ``scope`` the terms after the
    denial; ``before`` has the term right before each. ``vague``: about nobody in particular;
    ``event``: going on; ``personal``: about the speaker or user; ``being``: about the nature or
    place of something; ``owned``: about a possession; ``label``: the numbered subject; ``number``:
    the number or letter after the first words, ``numbered`` if a name, as of a ticket; ``name``: a
    first word or two that end in digits, such as "host1"; ``subject``: the terms before a form of
    "be" or "have"; ``added``: an addition; ``condition``: the terms of an opening "if" or "for".
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
    name: str
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
    text = _TITLE.sub(r"\1", unicodedata.normalize("NFKC", told))
    folded = text.casefold()
    # "Not only" and "no problem" deny nothing, so idioms go before denials are found.
    stating = _IDIOMS.sub(" ", folded)
    lower = _rewrite_phrases(stating)
    statements = tuple(_statements(_rewrite_endings(lower[:_MAX_CHARS])))
    tokens = list(_tokens(lower))
    # Denials in idioms still count: without "I don't know" the text says something else.
    whole = tokens if stating == folded else _tokens(_rewrite_phrases(folded))
    figures = tuple(filter(None, map(figure, tokens)))
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
    signs = map(str.casefold, _SIGNS.findall(THOUSANDS.sub("", text)))
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
    return " ".join((*_NAMES.findall(text), *_FIRST_NAME.findall(text), *addresses))


def _roles(tokens: Sequence[str]) -> dict[str, frozenset[str]]:
    roles: dict[str, frozenset[str]] = {}
    role = frozenset[str]()
    for token in tokens:
        if token in _ROLE_SETS:
            role = _ROLE_SETS[token]
        elif role and (named := _term(token) or figure(token)):
            roles[named] = roles[named] | role if named in roles else role
            role = frozenset()  # "from the old town": the preposition holds until a content word
    return roles


def _statements(lower: str) -> Iterator[Statement]:
    last: tuple[str, ...] = ()
    for part in _ENDS.split(lower)[:_MAX_STATEMENTS]:
        said = _statement(part, last)
        if said is not None:
            # A number alone, as in "Ann's age? 41.", takes the words from the statement before.
            last = said.terms[-NEAR_TERMS:]
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
    values = tuple(find_values(tokens, terms, last))
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
        name=_numbered_name(part),
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
        if is_number(token) or (len(token) == 1 and token != "i") or is_identifier(token):
            named = i > start and not tokens[i - 1].endswith("s")
            ordinal = not lex.ORDINAL_ENDINGS.isdisjoint(tokens[i + 1 : i + 2])
            tells = (named or ordinal) and all(terms[start:i])
            return (figure(token) or token) if tells else ""
    return ""


def _is_numbered(tokens: Sequence[str]) -> bool:
    """Return whether a statement begins with a thing with a number for a name."""
    noun, *rest = [each for each in tokens[:4] if each not in ("the", "number", "no")] or [""]
    return noun in lex.NUMBERED and bool(rest) and is_number(rest[0])


def _numbered_name(part: str) -> str:
    """Return the name that ends in digits and begins a statement: "host1", "sensor s12"."""
    found = _NUMBERED_NAME.match(part)
    return found[0] if found and (not found["noun"] or found["noun"] in lex.NUMBERED) else ""


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
    if not token.isascii() or is_identifier(token):
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
