"""The behaviour of keyed memories and message logs, as tests for any implementation.

A test file inherits a contract, says what to make and where, and pytest collects the tests::

    class TestMine(KeyedMemoryContract):
        kind = MyKeyedMemory  # called with a place and a namespace

        @pytest.fixture
        def place(self):
            return connect_to_an_empty_server()

``WorkingMemoryContract`` is for every ``Memory`` that can forget, ``KeyedMemoryContract`` for
classes with the verbs of ``KeyedMemory``, ``MessageLogContract`` for classes with the verbs of
``MessageLog``. pytest has to be installed, as the extra ``testing`` does.
"""

from .memories import KeyedMemoryContract, WorkingMemoryContract
from .messages import MessageLogContract

__all__ = ["KeyedMemoryContract", "MessageLogContract", "WorkingMemoryContract"]
