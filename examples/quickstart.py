"""Remember three things, ask for one, and see why it came back."""

from bethink import MemoryStore

with MemoryStore("quickstart.db") as store:
    store.store("Ann prefers dark mode in every editor", key="theme")
    store.store("The invoice run starts on the first Monday of the month", key="invoices")
    store.store("Standup is at 9:30", key="standup")
    store.store("Standup is at 10:00", key="standup")  # a new fact supersedes the old fact
    for hit in store.recall("When is the standup?"):
        print(hit)
        print(hit.explain())
