"""The kernel alone, without the verbs of features, refuses the arguments that need a feature."""

from __future__ import annotations

from typing import Any

import pytest

from bethink import ValidationError
from bethink.memory.memories import Memories


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"as_of": 1}, "the kernel knows the present only"),
        ({"approximate": True}, "the kernel has no approximate indexes"),
    ],
)
def test_a_recall_that_needs_a_feature_is_refused(options: dict[str, Any], message: str) -> None:
    with Memories() as kernel:
        kernel.store("Ann likes tea")
        assert kernel.recall("tea")
        with pytest.raises(ValidationError, match=message):
            kernel.recall("tea", **options)


def test_near_duplicates_are_not_sought_by_the_kernel() -> None:
    with Memories() as kernel, pytest.raises(ValidationError, match="on_similar"):
        kernel.store("Ann likes tea", on_similar="merge")
