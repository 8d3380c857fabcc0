"""The words that decide whether two statements differ: denials, changes, exclusions.

English, apart from denials. All sets hold folded words, or stems where noted.
"""

from __future__ import annotations

from ...text import MONTHS as _MONTHS
from ...text import STOP_WORDS, stem, word_set


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split())


DENIALS = (
    word_set(
        "not no never nobody nothing none neither nor nowhere without cannot cant dont doesnt "
        "didnt isnt arent wasnt werent wont wouldnt shouldnt couldnt hasnt havent hadnt mustnt "
        "aint anymore cancelled canceled abandoned discontinued formerly"
    )
    | word_set(
        "nicht kein keine keinen keinem keiner nie niemals pas jamais nunca niente mai nao non"
    )
    | word_set("niet geen nooit inte aldrig ikke aldri не нет никогда нельзя ні немає nigdy")
)
"""Words that deny a statement, for now or for good."""

UNSPACED_DENIALS = "[不没沒未无無]|ない|ませ|なく|ไม่|안 |않|없"
"""Denials as a pattern of parts of words, for scripts without spaces and for Korean."""

CHANGES = _stems(
    "now new newly move switch change update replace become became rename migrate increase reduce "
    "decrease raised lowered recently latest currently instead upgrade extend reschedule postpone "
    "reach correction actually joined relocated convert"
)
"""Stems that announce the end of a former state."""

SYNONYMS = {
    stem(word): stem(frame)
    for frame, words in {
        "live": "reside move relocate settle dwell locate",
        "work": "join employed hired",
        "use": "switch migrate adopt upgrade",
        "subscribe": "subscription",
        "like": "love enjoy adore fond",
        "hate": "dislike detest loathe",
        "prefer": "favor favour favorite favourite preference",
        "color": "colour",
        "grey": "gray",
    }.items()
    for word in words.split()
}
"""Stems by the stem of a synonymous statement."""

RELATIONS = frozenset(SYNONYMS.values())

POSTS = _stems(
    "default main primary current only best capital leader manager lead owner own host chair"
)
"""Stems of things with one holder at a time."""

UNIQUE = POSTS | _stems("prefer recent latest")
"""Stems that make a possession unique."""

SINGLE_VALUED = POSTS | _stems(
    "prefer live work name run birthday born deadline locate base set married version use "
    "expire schedule address status color size limit"
)
"""Stems of relations with one value at a time."""

MULTI_VALUED = _stems(
    "speak know visit call see saw seen hear heard read watch eat ate drink drank buy "
    "bought play help thank invite write wrote follow attend travel fly flew try tried order learn "
    "study teach taught cook"
)
"""Stems of relations with several values at once, under any names."""

KINDS = (
    _stems("black white grey red green blue yellow orange purple pink brown"),
    _stems("small medium large"),
    _stems("single engaged married divorced widowed"),
    _stems("vegetarian vegan pescatarian omnivore"),
)
"""Stems of things that usually are single at a time."""

_OPPOSITES = """
    like hate; enable disable; open close; open shut; full empty; near far; true false;
    start stop; start finish; begin end; increase decrease; raise lower;
    rise fall; accept reject; accept refuse; accept decline; approve reject; approve deny;
    allow forbid; allow block; allow prohibit; allow deny; allow ban; permit forbid; single married;
    hot cold; warm cool; early late; morning evening; day night; present absent; succeed fail;
    success failure; pass fail; public private; more less; more fewer; most least;
    required optional; mandatory optional; alive dead; buy sell; win lose;
    big small; large small; high low; long short; fast slow; old new; old young; light dark;
    black white; left right; inside outside; indoors outdoors; indoor outdoor; front back;
    top bottom; first last; first second; good bad; better worse; best worst; easy difficult;
    easy hard; simple complex; strong weak; rich poor; clean dirty; wet dry; loud quiet;
    noisy quiet; sit stand; arrive leave; enter leave; come go; push pull; give take; add remove;
    include exclude; attach detach; connect disconnect; lock unlock; sync async;
    synchronous asynchronous; manual automatic; online offline; local remote; static dynamic;
    internal external; keep discard; keep delete; save delete; safe dangerous; ascending descending;
    maximum minimum; max min; above below; agree disagree; male female;
    man woman; boy girl; remember forget; sunny rainy; busy free; cheap expensive;
    pause run; pause resume; stop run; broken fixed; broken work; fail work; fixed unresolved;
    pending done; pending complete; open resolved; open fixed; open merged; draft published;
    full part; active paused; active expired; valid expired; rent own; passing broken;
    beginner advanced; hourly daily; hourly weekly; hourly monthly; hourly yearly; daily weekly;
    daily monthly; daily yearly; weekly monthly; weekly yearly; monthly yearly; follow ignore;
    sleep awake; together apart; major minor; temporary permanent
"""


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in _OPPOSITES.split(";"):
        one, other = (stem(word) for word in pair.split())
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITES = _opposites()
"""Stems by the stems that exclude them."""

PREFIXES = ("un", "in", "im", "ir", "dis", "non", "de", "mis")
"""Prefixes that turn a word into the opposite."""

MONTHS = {form: name for name in _MONTHS for form in (name, name[:3])} | {"sept": "september"}
"""Names of months by all forms."""
_WEEKDAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
WEEKDAYS = {form: name for name in _WEEKDAYS for form in (name, name + "s")}
_COUNT = "two three four five six seven eight nine ten eleven twelve"
NUMBERS = {word: str(number) for number, word in enumerate(_COUNT.split(), 2)} | {
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "dozen": "12",
}

VALUES = NUMBERS.keys() | WEEKDAYS.keys() | MONTHS.keys()
"""Words that are values."""

MONEY = {
    word: currency
    for currency, words in {
        "usd": "$ usd dollar dollars",
        "eur": "\u20ac eur euro euros",
        "gbp": "\u00a3 gbp pounds",
        "jpy": "\u00a5 jpy yen",
    }.items()
    for word in words.split()
}
"""Currencies by all words and signs."""

SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9}
"""Words after a number that multiply the number."""

SHARES = word_set("% percent")
HOURS = word_set("am pm oclock")
ORDINALS = word_set("st nd rd th of the")

DETERMINERS = word_set("the my our")
ORDINAL_ENDINGS = word_set("st nd rd th")
FIRST_PERSON = word_set("i my me mine we our us im ive id")
SUBJECTS = FIRST_PERSON | word_set("user users")
"""Words for the subject of a memory, such as the user, that say nothing about the statement."""
SPEAKER_TERM = "i"
"""The term for the subject where a statement has hardly any words."""

INDEFINITE = NUMBERS.keys() | word_set(
    "a an some there another any no nobody someone somebody one few several"
)
"""First words of a statement about nobody in particular."""

FORMS_OF_BE = word_set("is are was were be been being am m re im isnt arent wasnt werent")

WEAK_VERBS = word_set(
    "get got go going gone let lets used try trying tried help helps know think thinking thought "
    "wonder wondering look looking give tell find suggest recommend hope feel feeling said mention "
    "thank thanks great awesome amazing cool nice glad sorry"
)
"""Words of little meaning that are still no synonyms."""

_EMPTY = WEAK_VERBS | word_set(
    "someone somebody something thing things person people anyone anybody anything everyone "
    "everybody everything s t re ve ll m d st nd rd th also really actually currently "
    "already still again even quite well please while there here some any each every both either "
    "one another other such next been as up out over off then "
    "that which who whom whose because since although though if whether until around "
    "gonna gotta wanna definitely totally "
    "today yesterday tomorrow im ive id way lot want wants need needs sure maybe before ever "
    "wow hey hi hello yeah yep yes ok okay bye congrats "
    "der die das den dem des ein eine einen einem einer le la les un une el los las una het een"
)
_UNITS = """
    duration .001 ms millisecond; duration 1 s sec second; duration 60 min minute;
    duration 3600 h hr hrs hour; duration 86400 day; duration 604800 week; duration 2628000 month;
    duration 31536000 year; size 1e3 kb kilobyte; size 1e6 mb megabyte; size 1e9 gb gigabyte;
    size 1e12 tb terabyte; length .001 mm millimeter; length .01 cm centimeter; length 1 m meter;
    length 1000 km kilometer; length 1609.344 mile; weight .001 mg milligram; weight 1 g gram;
    weight 1000 kg kilogram; weight 453.59237 lb lbs pound; length .0254 inch inches;
    length .3048 foot feet; volume .001 ml milliliter; volume 1 l liter; volume 3.785411784 gallon;
    rate 1e3 kbps; rate 1e6 mbps; rate 1e9 gbps; voltage 1 v volt; voltage 1e3 kv kilovolt;
    power 1 w watt; power 1e3 kw kilowatt
"""
UNITS = {
    form: (kind, float(size))
    for kind, size, *names in map(str.split, _UNITS.split(";"))
    for name in names
    for word in {name, name.replace("meter", "metre").replace("liter", "litre")}
    for form in ((word, word + "s") if len(word) > 2 else (word,))
}
"""The kind of value that a number with the unit is, and the size of the unit, by unit."""

TIMES = frozenset(("year", "month", "day", "weekday"))
"""Kinds of values that name a time."""

COUNTED = frozenset(("number", *(kind for kind, _ in UNITS.values())))
"""Kinds of values that count things."""

MEASURES = UNITS.keys() | MONEY.keys() | SCALES.keys() | SHARES | word_set("time times")
"""Units, which give an amount but no thing."""

MEASURE_TERMS = frozenset(map(stem, MEASURES))
NO_OWNERS = CHANGES | MEASURE_TERMS
"""Stems that own no thing after."""
ADDITIONS = word_set("also additionally another besides")
ADDITION_ENDINGS = (" too", " as well")
"""Phrases, anywhere or at the end, that add something to the former state."""

QUESTIONS = word_set("can could would do does did what how why where which who any should")
"""First words of a question."""

AUXILIARIES = FORMS_OF_BE | word_set(
    "has have had will shall may might must hasnt havent wont dont doesnt didnt"
)
"""First words of a question or a statement."""

CONJUNCTIONS = word_set("so and but also or")
PARTICLES = word_set("on off in into onto out up down over under before after with without from")
DIRECTIONS = word_set("from to for by against")
ROLES = PARTICLES | DIRECTIONS | word_set("about at through between")
OPPOSITE_ROLES = tuple(
    frozenset(pair.split())
    for pair in ("on off", "in out", "into out", "up down", "over under", "before after",
                 "with without", "from to", "for against")
)  # fmt: skip
UNFINISHED = ROLES | FORMS_OF_BE | word_set("a an the of and or")
"""Words that no text ends with, unless a sign follows in the place of a word."""
QUANTIFIERS = word_set(
    "all every both either neither none most much many few several half almost nearly hardly "
    "barely scarcely only merely partly mostly rarely seldom sometimes often usually "
    "generally probably possibly perhaps maybe likely unlikely may might could"
)
"""Words for how much of a statement holds, how often, or how surely."""
DETAIL_TERMS = MEASURE_TERMS | frozenset(map(stem, QUANTIFIERS))
MODIFIERS = QUANTIFIERS | word_set(
    "some any each or other another always "
    "same everyone everybody everything anyone anybody anything here there i me my mine you your "
    "yours he him his she her hers we us our ours they them their theirs "
    "was were did had will would shall should can must if unless until whether "
    "except want wants need needs try tries trying think thinks thinking hope hopes wish wishes "
    "plan plans planned "
    "supposedly reportedly allegedly apparently seemingly former future this these those "
    "last next previous yesterday today tomorrow tonight too about "
    "fail fails failed refuse refuses refused forget forgets forgot unable lack lacks lacked avoid "
    "avoids avoided skip skips skipped miss misses missed lose loses lost postpone postpones "
    "postponed"
)
"""Words that make a second statement about an equal subject."""
_SHORT = """
    cannot can; cant can; wont will; ll will; shant shall; didnt did; hadnt had; wasnt was;
    were was; werent was; wouldnt would; shouldnt should; couldnt could; mustnt must; mightnt might
"""
BASE_FORMS = {short: word for short, word in map(str.split, _SHORT.split(";"))}
"""Variants of words of MANNER, by the form that counts."""
_ALWAYS_COMPARED = DENIALS | HOURS | WEEKDAYS.keys() | MONTHS.keys() | NUMBERS.keys()
NO_CONTENT = STOP_WORDS | _EMPTY | SUBJECTS | _ALWAYS_COMPARED
"""Words that say nothing about the subject of a statement."""
