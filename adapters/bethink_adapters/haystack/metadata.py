"""Counts and values of the meta fields of the documents in a document store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bethink.adapting import make_async

from .documents import unique

if TYPE_CHECKING:
    from haystack import Document

_TYPES: Final = {"bool": "boolean", "int": "int", "float": "float"}
_ORDERED: Final = (str, int, float)


class MetaFields(ABC):
    """Counts and values of meta fields; a field may be named with or without "meta."."""

    @abstractmethod
    def filter_documents(self, filters: Mapping[str, Any] | None = None) -> list[Document]:
        """Return the documents that pass *filters*."""

    @abstractmethod
    def field_values(self, name: str, filters: Mapping[str, Any] | None = None) -> list[Any]:
        """Return the value of a meta field in each document that passes *filters*."""

    def count_documents_by_filter(self, filters: Mapping[str, Any]) -> int:
        """Count the documents that pass *filters*."""
        return len(self.filter_documents(filters))

    def count_unique_metadata_by_filter(
        self, filters: Mapping[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Count the different values of fields in the documents that pass *filters*."""
        names = [field.removeprefix("meta.") for field in metadata_fields]
        return {name: len(self._values(name, filters)) for name in names}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the fields of all documents, and the types of the fields."""
        fields: dict[str, dict[str, str]] = {}
        for document in self.filter_documents():
            for name, value in document.meta.items():
                if value is not None:
                    fields[name] = {"type": _TYPES.get(type(value).__name__, "keyword")}
        return fields

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the least and the greatest text or number; None where values do not compare."""
        values = [each for each in self._values(metadata_field) if isinstance(each, _ORDERED)]
        try:
            return {"min": min(values), "max": max(values)}
        except (TypeError, ValueError):
            return {"min": None, "max": None}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Mapping[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Return a page of the different values, and the number of all different values.

        With a *search_term*, count only values with the term, in upper or lower case.
        """
        term = (search_term or "").lower()
        values = self._values(metadata_field, filters)
        found = [value for value in values if term in str(value).lower()]
        return found[from_ : from_ + size], len(found)

    def _values(self, field: str, filters: Mapping[str, Any] | None = None) -> list[Any]:
        return unique(self.field_values(field.removeprefix("meta."), filters))

    count_documents_by_filter_async = make_async(count_documents_by_filter)
    count_unique_metadata_by_filter_async = make_async(count_unique_metadata_by_filter)
    get_metadata_fields_info_async = make_async(get_metadata_fields_info)
    get_metadata_field_min_max_async = make_async(get_metadata_field_min_max)
    get_metadata_field_unique_values_async = make_async(get_metadata_field_unique_values)
