"""Remember three things, ask for one, and see why it came back."""

from bethink import MemoryStore

with MemoryStore("quickstart.db") as store:
    store.store("Ann prefers dark mode in every editor", author="Ann")
    store.store("The invoice run starts on the first Monday of the month")
    store.store("Standup is at 9:30", key="standup")
    store.store("Standup is at 10:00", key="standup")  # the fact changed: the old one is superseded

    for hit in store.recall("When is the standup?", k=2):
        print(f"{hit.score:.2f}  {hit.memory.content}")
        print(f"      {hit.explain().signals}")
