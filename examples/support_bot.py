"""A support bot that answers from conversations exported from ChatGPT, and remembers customers.

    python examples/support_bot.py conversations.json

It runs offline, with a stand-in for a model, `ask_model`. Without a file, it reads a sample.
"""

import re
import sys
from pathlib import Path

from bethink import MemoryStore, segment
from bethink_adapters.formats import import_from, read_chatgpt

SAMPLE = Path(__file__).parent / "data" / "conversations.json"


def ask_model(prompt: str) -> str:
    """Repeat what an assistant answered, in the memories of the *prompt*, to the same question."""
    answers = re.findall(r"^- assistant: (.*)", prompt, re.MULTILINE)
    return answers[0] if answers else "Nobody told me."


def answer(store: MemoryStore, customer: str, question: str) -> str:
    """Answer from the export and from what the *customer* said, and remember the turn."""
    own = f"customers/{segment(customer)}"
    known = store.pack(question, namespace=["support", own], budget_tokens=300)
    said = ask_model(f"{known.text}\n\n{customer}: {question}")
    turn = [{"content": question, "author": customer}, {"content": said, "author": "assistant"}]
    store.store_many(turn, namespace=own)
    return said


with MemoryStore("support.db") as store:
    export = sys.argv[1] if len(sys.argv) > 1 else SAMPLE
    print(import_from(store, read_chatgpt(export, user="Ann"), namespace="support"))
    for asked in ("How often should I feed my sourdough?", "Which train goes to Graz?"):
        print(f"Bob: {asked}\nBot: {answer(store, 'Bob', asked)}")
    print(store.erase(namespace=f"customers/{segment('Bob')}"), "turns of Bob erased")
