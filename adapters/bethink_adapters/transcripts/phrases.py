"""Phrases: the words of people about an outcome, with negations.

A rule-based reader of English takes a text apart into clauses, finds words of success or failure,
and turns each word round once for each negation: "not fixed" and "fails to work" are failures, "no
longer fails" and "without errors" are successes. Questions, wishes and conditions tell nothing, nor
does praise ("Great, it is still not working"), nor a reported claim or thought, until affirmed or
denied: "You said it works, it does not".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bethink.adapting import Verdict


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_REACH: Final = 5  # so many words before an outcome may negate it

# Told as they stand.
_SUCCEEDED: Final = _words(
    """
    works worked passes passed succeeds succeeded solves solved resolves resolved fixes fixed
    helped gone
    """
)
_FAILED: Final = _words("fails failed breaks broke crashes crashed persists persisted remains")
# Told of something: "is working", "still failing", but not "the failing test".
_GOOD: Final = _words("working passing succeeding correct fine okay ok green helpful successful")
_BAD: Final = _words("failing broken wrong incorrect crashing useless unhelpful red worse there")
# Told after a subject or a negation: "they work", "does not help".
_CAN: Final = _words("work pass succeed help fix solve resolve")
_CANNOT: Final = _words("fail break crash")
# Met with or missed: "I get an error", "no errors".
_TROUBLE: Final = _words(
    """
    error errors failure failures exception exceptions problem problems issue issues crash
    traceback
    """
)

_NEGATIONS: Final = _words(
    """
    not never no without nothing none neither nor hardly rarely seldom cannot doubt doubts doubtful
    zero 0
    """
)
_REFUSALS: Final = _words("fails failed failing fail stopped stops refuses used")
"""With "to" or a word in -ing, negations of the next word: "fails to work", "stopped failing"."""
_SUBJECTS: Final = _words(
    """
    they it tests test all both everything we i you these those that this things to now builds
    checks and still always
    """
)
_BEING: Final = _words(
    """
    is are was were be been being am got get gets keeps kept still now looks look seems seem all
    everything already finally tests test both it stopped stops
    """
)
_MET: Final = _words(
    """
    get gets got getting give gives gave throw throws threw raise raises raised see sees saw
    seeing hit hits same still another
    """
)
_OWNERS: Final = _words("a an the my our your his her their any some every each")
_ADVERBS: Final = _words(
    """
    completely fully really quite totally just already finally now perfectly only also actually
    even so very properly yet entirely
    """
)
_PARTLY: Final = _words("partially partly almost mostly partial halfway somewhat nearly barely")
_UNREAL: Final = re.compile(
    r"\b(if|unless|whether|should|would|might|may|hope|hopefully|try|trying|want|wants|need|needs|"
    r"please|let'?s|make sure|ensure|until|once|in case|will|can you|could you|expect|supposed)\b"
)
_WILL_NOT: Final = re.compile(r"\b(will|would) not\b")
_CLAIMED: Final = re.compile(
    r"(?<!\bas )(?<!\blike )(?<!\bwhat )(?<!\bway )"
    r"\b(?:you (?:said|say|claim|claimed|promised|told me|wrote)"
    r"|i (?:thought|assumed|believed|expected|hoped))"
    r" (?:that )?(?:it|this|that|they|these|those|the|all|everything|tests)\b"
)
_FILLED: Final = r"(?:(?:and|no|now|yes|well|still|just|\w+ly) )*"
_ECHOED: Final = re.compile(  # "and now it really does not"
    rf"\W*{_FILLED}(?:it|this|that|they|these|those|tests) {_FILLED}"
    r"(?:do|does|did|is|are|was|were)( not)?(?: (?:yet|now|at all))?\W*"
)
_CLAUSES: Final = re.compile(
    r"[,;:()\n\u2013\u2014]+|\s-+\s|\band (?=now\b)"
    r"|\b(?:but|however|although|though|except|while|whereas|because)\b"
    r"|(?<!\bnot )(?<!\bnever )(?<!\bhas )(?<!\bhave )\byet\b"
)
_CLAIM_ENDS: Final = re.compile(r"\band (?=(?:it|this|they)\b)")
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_CONTRACTED: Final = (
    (re.compile(r"\b(?:no|(?:without|beyond)(?: a| any| all)?) doubts?\b"), ""),
    (re.compile(r"\bain'?t\b"), "is not"),
    (re.compile(r"\bwon'?t\b"), "will not"),
    (re.compile(r"\bcan(?:'?t|not)\b"), "can not"),
    (
        re.compile(r"\b(do|does|did|is|are|was|were|has|have|had|could|would|should)n'?t\b"),
        r"\1 not",
    ),
    (re.compile(r"\bnot only\b"), ""),
    (re.compile(r"'(?:s|re|m)\b"), " is"),
    (re.compile(r"\b(?:no longer|not any ?more|never again)\b"), "not"),
    (re.compile(r"\b(?:yet to|unable to|not (?:yet )?able to|far from|nowhere near)\b"), "not"),
    (re.compile(r"\b(is|are|was|were) anything but\b"), r"\1 not"),
    (re.compile(r"\bfail(?:s|ed)? to (?=(?:get|make) (?:it|this|that|them|these|the)\b)"), "not "),
    (
        re.compile(
            r"\bnot ((?:look |seem |quite |entirely |really )*)right(?=[.,;:!)]|$| (?:but|yet)\b)"
        ),
        r"\1wrong",
    ),
    (re.compile(r"\bdo the trick\b"), "work"),
    (re.compile(r"\b(?:does|did) the trick\b"), "works"),
    (re.compile(r"\bwent away\b"), "gone"),
    (re.compile(r"\ball good\b"), "is fine"),
)


def verdict_of(text: str) -> Verdict | None:
    """Return the verdict of *text* on an outcome; None without a verdict.

    "partial" is an outcome that is good in part, or in some places and not in all.
    """
    found: set[bool] = set()
    partly = False
    claimed: bool | None = None
    for clause in _clauses(_CODE.sub(" it ", text)):
        words = re.findall(r"[a-z]+|\d+", clause)
        if _CLAIMED.search(clause):
            claimed = _claim(words)
            continue
        told = list(_told(words))
        if claimed is not None and (echo := _ECHOED.fullmatch(clause)):
            told = [claimed is not bool(echo[1])]
        found.update(told)
        partly |= bool(told) and not _PARTLY.isdisjoint(words)
    if not found:
        return None
    if partly or len(found) == 2:
        return "partial"
    return "worked" if True in found else "failed"


def _clauses(text: str) -> Iterator[str]:
    """Yield the clauses that state or claim something, in plain small letters."""
    for sentence in _SENTENCES.split(text.lower().replace("\u2019", "'")):
        if sentence.rstrip().endswith("?"):
            continue
        for short, long in _CONTRACTED:
            sentence = short.sub(long, sentence)
        for clause in _CLAUSES.split(sentence):
            parts = _CLAIM_ENDS.split(clause) if _CLAIMED.search(clause) else [clause]
            yield from (part for part in parts if _CLAIMED.search(part) or _states(part))


def _states(clause: str) -> bool:
    return not _UNREAL.search(_WILL_NOT.sub("does not", clause))


def _claim(words: Sequence[str]) -> bool | None:
    """Return whether "it does" would affirm a success: after "it does not fail", a failure."""
    senses = [
        _sense(word, words, place, negated=word not in _TROUBLE) for place, word in enumerate(words)
    ]
    return next((sense for sense in reversed(senses) if sense is not None), None)


def _told(words: Sequence[str]) -> Iterator[bool]:
    """Yield, for each word of an outcome, whether the outcome is good."""
    last = 0
    for place, word in enumerate(words):
        before = words[max(last, place - _REACH) : place]
        negated = sum(each in _NEGATIONS for each in before) + _refused(words, place)
        good = _sense(word, words, place, negated=bool(negated))
        if good is not None and not _refuses(words, place):
            yield good is not bool(negated % 2)
            last = last if words[place + 1 : place + 2] == ["or"] else place + 1


def _sense(word: str, words: Sequence[str], place: int, *, negated: bool) -> bool | None:
    """Return whether *word* at *place* tells of success; None if *word* tells nothing."""
    near = words[max(0, place - 2 * _REACH) : place]
    before = [each for each in near if each not in _ADVERBS | _NEGATIONS | _PARTLY]
    previous = before[-1] if before else ""
    if word in _SUCCEEDED or word in _FAILED:
        owned = previous in _OWNERS or (word == "fixed" and previous in ("i", "we", "you"))
        return None if owned else word in _SUCCEEDED
    if word in _GOOD or word in _BAD:
        if word == "there" and previous != "still":
            return None
        said = previous in _BEING or (not before and place == len(words) - 1)
        return word in _GOOD if said else None
    if word in _CAN or word in _CANNOT:
        subject = previous in _SUBJECTS or previous.endswith("s")
        return word in _CAN if negated or (subject and word not in ("help", "fix")) else None
    if word in _TROUBLE:
        return False if negated or not _MET.isdisjoint(near[-4:]) else None
    return None


def _refuses(words: Sequence[str], place: int) -> bool:
    """Return whether the word at *place* only negates the next words, as in "fails to work"."""
    return words[place] in _REFUSALS and words[place + 1 : place + 2] == ["to"]


def _refused(words: Sequence[str], place: int) -> int:
    """Count the refusals of the word at *place*, as in "fails to work" and "stopped failing"."""
    before = words[max(0, place - 3) : place]
    to = "to" in before and bool(_REFUSALS.intersection(before[: before.index("to")][-1:]))
    stopped = before[-1:] in (["stopped"], ["stops"])
    return int(to) + int(stopped)
