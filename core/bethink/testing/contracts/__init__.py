"""The behaviour of keyed memories, message logs and storage backends, as tests for any class.

A test file inherits a contract, says what to make and where, and pytest collects the tests::

    class TestMine(KeyedMemoryContract):
        kind = MyKeyedMemory  # called with a place and a namespace

        @pytest.fixture
        def place(self):
            return connect_to_an_empty_server()

``WorkingMemoryContract`` is for every ``Memory`` that can forget, ``KeyedMemoryContract`` for
classes with the verbs of ``KeyedMemory``, ``MessageLogContract`` for classes with the verbs of
``MessageLog``. ``BackendContract`` is for a ``Backend``, given by the fixture ``backend``, and
``DurableContract`` for backends that outlive the process, at the place of the fixture ``location``.
pytest has to be installed, as the extra ``testing`` does.
"""

from .backends import BackendContract, DurableContract
from .memories import KeyedMemoryContract, WorkingMemoryContract
from .messages import MessageLogContract

__all__ = [
    "BackendContract",
    "DurableContract",
    "KeyedMemoryContract",
    "MessageLogContract",
    "WorkingMemoryContract",
]
