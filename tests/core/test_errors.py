"""The error tree: built-in bases, messages, attributes, pickling."""

from __future__ import annotations

import pickle

import pytest

from bethink import MemoryRecord, errors

EXISTING = MemoryRecord("a1", "default", "The sky is blue", 1.0, 1.0, 1.0)
EXAMPLES = [
    (errors.BethinkError("went wrong"), Exception, "went wrong"),
    (errors.ValidationError("k must be at least 1"), ValueError, "k must be at least 1"),
    (errors.ArgumentError("unknown argument 'n'; use 'k'"), TypeError, "use 'k'"),
    (errors.DimensionError(384, 3), ValueError, "vector has 3 dimensions, expected 384"),
    (errors.DimensionError(4, 3, "crewai"), errors.ValidationError, "'crewai'"),
    (errors.PathTakenError("/a", "folder"), ValueError, "there is a folder at '/a' already"),
    (errors.IsAFolderError("/a"), ValueError, "'/a' is a folder"),
    (errors.HoleError("/a", 1_024), ValueError, "'/a' lacks what stood at byte 1,024"),
    (errors.OccurrenceError("/a", "x"), ValueError, "'x' does not occur in '/a'"),
    (errors.OccurrenceError("/a", "x", (1, 3)), ValueError, "occurs 2 times (lines 1, 3)"),
    (errors.LineRangeError(9, 0, 2), ValueError, "line 9 is not within [0, 2]"),
    (errors.LineRangeError(10**5000, 0, 2), ValueError, "line number of 16610 bits"),
    (errors.CompactedError(3, 9, 5.0), ValueError, "entry 3 lies before entry 9, made at 5.0"),
    (errors.SourceError("a1", "user", "web"), ValueError, "a handle for 'web' cannot change it"),
    (errors.ScreenedError("Obey me."), ValueError, "the screen refused 'Obey me.'"),
    (errors.NotFoundError("record", "a1"), KeyError, "record 'a1' was not found"),
    (errors.EmbedderMismatchError("hash-256", "tiny"), ValueError, "reembed"),
    (errors.IntegrityKeyError("x.db", "another key"), ValueError, "x.db: another key"),
    (errors.EmbedderError("openai/x", "no route"), RuntimeError, "'openai/x' failed: no route"),
    (errors.SimilarMemoryError(EXISTING, 0.9312), ValueError, "'a1' says nearly the same"),
    (errors.SimilarMemoryError(EXISTING, 1, (0, 2)), ValueError, "items 0 and 2 say nearly"),
    (errors.RateLimitError("failures", 3, 3600), RuntimeError, "more than 3 failures in 3600 s"),
    (errors.RateLimitError("failures", 3, 3600, 12.4), RuntimeError, "try again in 13 s"),
    (errors.RateLimitError("failures", 3, 3600, 0.3), RuntimeError, "try again in 1 s"),
    (errors.StoreClosedError(), RuntimeError, "closed"),
    (errors.StorageError("/tmp/m.db", "disk full"), OSError, "/tmp/m.db: disk full"),
    (errors.NotAnchoredError("x.db", "no anchor"), errors.StorageError, "x.db: no anchor"),
    (errors.NotABethinkFileError("x.db"), errors.StorageError, "x.db: not a bethink file"),
    (errors.CorruptStoreError("x.db", "page 3 torn"), errors.StorageError, "x.db: page 3 torn"),
    (errors.TamperedError("x.db", "changed"), errors.CorruptStoreError, "x.db: changed"),
    (errors.SchemaTooNewError(9, 1, "x.db"), errors.StorageError, "schema 9"),
    (errors.SchemaTooNewError(9, 1), OSError, "knows up to 1"),
    (errors.StoreBusyError("x.db"), TimeoutError, "write lock"),
    (
        errors.MissingExtraError("psycopg", "postgres"),
        ImportError,
        "not installed: in a checkout of bethink pip install '.[postgres]', or pip",
    ),
]


def values(error: Exception) -> dict[str, object]:
    return {name: value for name, value in vars(error).items() if not name.startswith("_")}


@pytest.mark.parametrize(("error", "builtin", "text"), EXAMPLES)
def test_each_error_is_a_built_in_and_says_what_happened(
    error: errors.BethinkError, builtin: type[Exception], text: str
) -> None:
    assert isinstance(error, errors.BethinkError)
    assert isinstance(error, builtin)
    assert text in str(error)


@pytest.mark.parametrize(("error", "builtin", "text"), EXAMPLES)
def test_each_error_survives_pickling(
    error: errors.BethinkError, builtin: type[Exception], text: str
) -> None:
    error.add_note("while testing")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert values(again) == values(error)
    assert again.__notes__ == ["while testing"]


def test_every_class_has_an_example() -> None:
    classes = {c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)}
    assert classes == {type(error) for error, _, _ in EXAMPLES}


def test_every_class_has_its_place_in_the_tree() -> None:
    tree = errors.__doc__ or ""
    assert [each for error, *_ in EXAMPLES if (each := type(error).__name__) not in tree] == []


def test_values_are_kept_as_attributes() -> None:
    busy = errors.StoreBusyError("m.db", "locked")
    new = errors.SchemaTooNewError(9, 1, "m.db")
    extra = errors.MissingExtraError("psycopg", "postgres")
    assert (busy.path, busy.reason) == ("m.db", "locked")
    assert (new.found, new.supported, new.path) == (9, 1, "m.db")
    assert (extra.package, extra.extra, extra.name) == ("psycopg", "postgres", "psycopg")
    assert errors.MissingExtraError("psycopg>=3", "postgres", "2.9").name == "psycopg"
