"""Bring conversations exported from ChatGPT into a store, ask it, and write it out as notes.

    python examples/move_in.py conversations.json

Without a file, it reads a sample. The store is agent.db, and the notes go to the folder vault.
"""

import sys
from pathlib import Path

from bethink import MemoryStore
from bethink_adapters.formats import export_markdown, import_from, read_chatgpt

sample = Path(__file__).parent / "data" / "conversations.json"
export = sys.argv[1] if len(sys.argv) > 1 else sample

with MemoryStore("agent.db") as store:
    # What was imported before is known: run it again with a newer export to add what is new.
    print(import_from(store, read_chatgpt(export, user="Ann"), namespace="users/ann"))

    for hit in store.recall("Which train did Ann book?", k=1, namespace="users/ann"):
        print(f"{hit.memory.author}: {hit.memory.content}")

    print(export_markdown(store, "vault", namespace="users/ann"), "notes written to vault/")
