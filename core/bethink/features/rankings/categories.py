"""Categories: sixteen kinds of memory, guessed from the words of a text by rules.

One function guesses the category of a memory, one the category that a query asks for. Both use
plain rules for English; without a matching rule, the answer is None. A cue in the base form stands
for all forms of the word: "error" for "errors", "fix" for "fixed" and "fixing".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from ...text import uninflect

CATEGORIES: Final = (
    "architecture",
    "coding_style",
    "command",
    "context",
    "convention",
    "decision",
    "dependency",
    "environment",
    "general",
    "gotcha",
    "pattern",
    "preference",
    "todo",
    "tool_preference",
    "troubleshooting",
    "workaround",
)
"""The categories of memories. "general" is for the rest; no rule guesses "general"."""

_READ: Final = 1000
"""The number of characters to look at: the beginning names the subject."""
_LETTERS: Final = re.compile(r"(?<![^\W_])[^\W\d_]+(?!\w)")
_CUE_WORDS: Final = re.compile(r"(?<![\w\\\]])[a-z]{3,}(?![\w(\[?*\\])")
"""The whole words in a pattern, without words whose endings the pattern lists."""


def guess_category(text: str) -> str | None:
    """Return the one of ``CATEGORIES`` that a *text* belongs to, None without a matching rule."""
    return _strongest(_SAID, text)


def query_intent(text: str) -> str | None:
    """Return the one of ``CATEGORIES`` that a query asks for, None without a matching rule."""
    return _strongest(_ASKED, text)


def _strongest(rules: Mapping[str, tuple[str, ...]], text: str) -> str | None:
    """Return the category with the most different cues in *text*, the earlier rule in a tie."""
    bases, head = _base_forms(tuple(rules.values())), text[:_READ]
    told = _LETTERS.sub(lambda word: bases.get(uninflect(word[0].lower()), word[0]), head)
    found = [
        (max(len({*map(str.lower, _pattern(cues).findall(each))}) for each in (head, told)), name)
        for name, cues in rules.items()
    ]
    most = max(count for count, _ in found)
    return next((name for count, name in found if count == most), None) if most else None


@cache  # compiled when first asked for: it takes as long as half of the import
def _pattern(cues: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(cues)})(?!\w)", re.IGNORECASE)


@cache
def _base_forms(rules: tuple[tuple[str, ...], ...]) -> dict[str, str]:
    """Return the words of all cues that are base forms, by the part that all forms share."""
    words = [word for cues in rules for cue in cues for word in _CUE_WORDS.findall(cue)]
    return {uninflect(word): word for word in words if not word.endswith(("s", "ed", "ing"))}


_TOOLS: Final = (
    r"(?:vim|neovim|emacs|vs ?code|pycharm|cursor|zsh|fish|tmux|uv|pip|poetry|npm|pnpm|yarn|bun|"
    r"pytest|ruff|black|eslint|prettier|[m]ake|just|docker|podman|ripgrep|rg|git|gh|editor|ide|"
    r"terminal|shell|debugger|linter|formatter)"
)
_STYLE: Final = (
    r"(?:tabs|spaces|indent\w*|line length|quotes|semicolons?|type hints?|docstrings?|"
    r"trailing commas?|list comprehensions?|early returns?|blank lines?|f-strings?)"
)
_FAILING: Final = (
    r"(?:error|exception|traceback|stack trace|crash\w*|segfault\w*|broken?|fail|failure|"
    r"timeout|time out|not working|"
    r"hang|hung|stuck|freeze|froze|frozen|(?:does|do|did|will|would|is|are)(?: ?n.t| not) (?:\w+ )?"
    r"(?:work|start|load|build|compile|connect|respond)\w*|\w+(?:Error|Exception))"
)

# Written "[m]ake": the program stands for no form of the verb.
_PROGRAMS: Final = (
    r"(?:[m]ake|npm|pnpm|yarn|pip|uv|python3?|pytest|cargo|go|docker|kubectl|git|tox)"
)

# A rule that says more comes before one that says less: it wins a tie.
_SAID: Final = {
    "todo": (
        r"to-?do",
        r"fixme",
        r"still (?:need|have|has|needs) to",
        r"(?:need|remember|don.t forget) to",
        r"remains to be \w+",
        r"(?:next|follow-up) (?:step|task)s?",
        r"not (?:yet )?(?:done|implemented|finished) yet",
    ),
    "workaround": (
        r"workarounds?|work[- ]arounds?",
        r"until (?:\w+ ){1,5}(?:fix|patch|release|merge)",
        r"monkey-?patch\w*",
        r"temporar(?:y|ily)",
        r"as a (?:hack|stopgap)",
        r"stopgap",
        r"for the time being",
        r"bypass\w*",
    ),
    "gotcha": (
        r"gotchas?",
        r"pitfalls?",
        r"caveats?",
        r"beware",
        r"watch out",
        r"be careful",
        r"careful",
        r"silently",
        r"surprising(?:ly)?",
        r"unexpected(?:ly)?",
        r"counter-?intuitive(?:ly)?",
        r"even though",
        r"not what (?:you|one) (?:expect|think)s?",
        r"do(?:es)?(?: not|n.t) (?:raise|fail|warn)",
    ),
    "tool_preference": (
        rf"(?:prefer|like|favou?rs?|want|use|rather) (?:to use |use )?{_TOOLS}",
        rf"{_TOOLS} (?:over|instead of|rather than) \w+",
        r"(?:editor|ide|shell|package manager) of choice",
    ),
    "coding_style": (
        rf"(?:prefer|like|want|use|always|never|no|with|add|write) (?:\w+ )?{_STYLE}",
        rf"{_STYLE} (?:over|instead of|rather than|of|for|on) \w+",
        r"(?:code|coding|formatting) style",
        r"formats? (?:the|our|all) code",
    ),
    "troubleshooting": (
        _FAILING,
        r"(?:fix|solve|resolve|cure) (?:it |this |that )?by",
        r"the (?:fix|cause|solution|remedy|culprit) (?:is|was|are|were)",
        r"root cause",
        r"caused by",
        r"to fix",
    ),
    "decision": (
        r"decided",
        r"decisions?",
        r"(?:^|(?:we|i|they|team) )(?:chose|picked|selected|settled on|opted|went with|agreed)",
        r"chosen",
        r"trade-?offs?",
        r"rationale",
        r"rejected",
        r"in favou?r of",
    ),
    "convention": (
        r"conventions?",
        r"(?:snake|camel|kebab|pascal)[_ -]?case",
        r"naming",
        r"(?:is|are|must be|should be) named",
        r"(?:must|should) (?:always |never |all )?(?:start|begin|end|be prefixed|carry) with",
        r"by convention",
        r"(?:commit messages?|branch(?:es)? names?|file ?names?)",
        r"(?:always|never) (?:use|put|write|name|commit|import|add)",
        r"\A(?:always|never|do not|don.t|avoid) \w+",
        r"every \w+ (?:must|should|has to|needs)",
        r"guidelines?",
    ),
    "dependency": (
        r"depends? on",
        r"dependenc(?:y|ies)",
        r"pinned",
        r"\w+ v?\d+(?:\.\d+)* (?:is required|or (?:newer|later))",
        r"requires? (?:\w+ )?(?:version )?v?\d+(?:\.\d+)*",
        r"\w+ ?(?:>=|<=|==|~=) ?\d+(?:\.\d+)*",
        r"(?:upgrade|downgrade|bump) (?:\w+ )?(?:to|from)",
        r"(?:third-party )?(?:library|package) (?:for|version)",
    ),
    "command": (
        r"(?:run|execute|type|invoke|(?:start|deploy|build|test)(?: \w+)? with):? ?`[^`]+`",
        rf"`{_PROGRAMS} [^`]*`",
        rf"(?:run|execute) (?:{_PROGRAMS}|the \w+ script) ?[\w.:/-]*",
        rf"\A{_PROGRAMS} \S+",
        r"(?:with|via) \./\S+",
        r"--[a-z][a-z-]+",
        r"the command(?: line)? (?:is|for|to)",
        r"command to \w+",
    ),
    "environment": (
        r"environment variables?",
        r"env(?:ironment)? vars?",
        r"(?-i:[A-Z][A-Z0-9]*_[A-Z0-9_]+)",
        r"(?:staging|production|dev|development|test) "
        r"(?:server|environment|database|cluster|machine)",
        r"localhost(?::\d+)?",
        r"port \d+",
        r"runs on (?:ubuntu|debian|linux|macos|windows|python|node|kubernetes|aws|azure)\S*",
        r"hosted (?:on|at|in)",
        r"\.env",
        r"installed (?:in|at|on|under)",
        r"(?:ubuntu|debian|macos|windows) \d+\S*",
    ),
    "pattern": (
        r"patterns?",
        r"idioms?",
        r"wrap (?:\w+ ){1,4}in (?:an? )?\w+",
        r"(?:factory|decorator|singleton|repository|observer|adapter|builder|middleware|strategy)"
        r" (?:pattern|function|class)",
        r"context managers?",
        r"\Ause (?:\S+ ){1,4}(?:for|when|in)",
        r"re-?us(?:e|able) \w+",
        r"use (?:an? )?(?:factory|decorator|repository|retry|queue|fixture)\w*",
    ),
    "architecture": (
        r"architectur(?:es?|al)",
        r"(?:micro)?services? (?:talk|communicate|call|publish|consist)\w*",
        r"consists of",
        r"(?:front|back)[- ]?end (?:talks|calls|is|uses|and)",
        r"layers?",
        r"modules?",
        r"components?",
        r"message (?:bus|queue|broker)",
        r"event[- ](?:driven|sourc\w+)",
        r"(?:is|are) split into",
        r"data ?flows?",
        r"sits (?:behind|in front of|between)",
        r"monolith\w*",
    ),
    "preference": (
        r"prefer|preference",
        r"(?:like|love|hate|dislike|enjoy)",
        r"(?:he|she|they|user|i|we) (?:really )?want",
        r"favou?rites?",
        r"would rather",
        r"(?:vegetarian|vegan|allergic)",
    ),
    "context": (
        r"(?:is|are|am) (?:currently )?working on",
        r"currently",
        r"this (?:project|repository|repo|app|codebase) (?:is|aims|contains|does)",
        r"the (?:goal|purpose|aim) (?:of|is)",
        r"background",
    ),
}

_ASKED: Final = {
    "workaround": (
        r"work[- ]?arounds?",
        r"(?:get|got|way) around",
        r"bypass\w*",
        r"(?:temporary|quick) (?:fix|hack|solution)",
        r"stopgap",
    ),
    "gotcha": (
        r"gotchas?",
        r"pitfalls?",
        r"caveats?",
        r"traps?",
        r"(?:watch out|look out|careful|beware|aware)",
        r"(?:surpris|unexpected)\w*",
        r"(?:quirks?|footguns?)",
        r"what (?:could|can|might) go wrong",
        r"common mistakes?",
    ),
    "troubleshooting": (
        _FAILING,
        r"fix|debug|solve|resolve|troubleshoot|diagnose",
        r"(?:bugs?|issues?|problems?|troubles?)",
        r"what(?:.s| is| went) wrong",
        r"why (?:does|do|did|is|are|can)(?: ?n.t| not)(?! (?:we|they|you|i) (?!get|see))",
        r"(?:can.?t|cannot|unable to) \w+",
    ),
    "decision": (
        r"why (?:did|do|have|are|were)(?: ?n.t)? (?:we|they|you|i)(?! (?:get|see))",
        r"why (?:is|was) \w+ (?:used|chosen|picked)",
        r"decisions?|decide",
        r"(?:chose|chosen|choose|choice|pick)",
        r"(?:rationale|reasons? (?:for|behind))",
        r"trade-?offs?",
        r"alternatives?",
    ),
    "convention": (
        r"conventions?",
        r"naming",
        r"how (?:should|do) (?:we|i) (?:name|format|structure a commit|write commit)\w*",
        r"(?:standards?|guidelines?)",
        r"(?:commit messages?|branch names?)",
        r"(?:snake|camel|kebab|pascal)[_ -]?case",
        r"(?:our|the) rules? (?:for|about|on)",
    ),
    "coding_style": (
        r"(?:code|coding|formatting) style",
        _STYLE,
    ),
    "tool_preference": (
        rf"(?:which|what) (?:\w+ )?{_TOOLS}",
        r"package manager",
        r"(?:preferred|favou?rite) (?:tools?|editor|ide|shell|terminal)",
    ),
    "pattern": (
        r"patterns?",
        r"idioms?|idiomatic",
        r"best (?:way|practices?)",
        r"how do we (?:usually|normally|typically) \w+",
        r"(?:boilerplate|template) for",
        r"examples? of",
    ),
    "architecture": (
        r"architectur(?:es?|al)",
        r"(?:system|overall|high-level) (?:design|structure|overview)",
        r"what does the (?:\w+ ){1,3}look like",
        r"how (?:is|are) (?:\w+ ){1,4}(?:organi[sz]ed|structured|laid out|connected|split)",
        r"(?:fit|work|hang)s? together",
        r"(?:components?|modules?|layers?|services?)",
        r"data ?flows?",
        r"(?:talk|communicate)s? (?:to|with)",
    ),
    "command": (
        r"commands?",
        r"how (?:do|can|should|to)(?: i| we| you)? "
        r"(?:run|start|build|deploy|install|launch|execute|migrate|restart)",
        r"(?:which|what) (?:flags?|options?|script)",
        r"command line",
        r"(?:run|execute) the (?:tests?|linter|migrations?|server|build|script)",
    ),
    "dependency": (
        r"dependenc(?:y|ies)",
        r"(?:which|what) (?:\w+ )?(?:version|library|package)s?",
        r"depends? on",
        r"upgrade",
    ),
    "environment": (
        r"env(?:ironment)?(?: vars?| variables?)?",
        r"(?:which|what) (?:port|server|host|os|machine)",
        r"(?:staging|production) (?:url|server|database)",
        r"where (?:is|are) (?:\w+ ){1,3}(?:hosted|installed|deployed|running)",
    ),
    "todo": (
        r"to-?dos?",
        r"what(?:.s| is) (?:left|next|missing|open|still)",
        r"what should (?:i|we) do next",
        r"(?:remaining|open|next|unfinished) (?:tasks?|work|steps?|items?)",
    ),
    "preference": (
        r"prefer|preference",
        r"favou?rites?",
        r"(?:does|do|would) (?:(?!look)\w+ ){1,3}(?:like|love|hate|want|enjoy)",
    ),
    "context": (
        r"what (?:are|were) (?:we|you|they|i) (?:working on|doing)",
        r"what is this (?:project|repository|repo|app|codebase)",
        r"background",
    ),
}
