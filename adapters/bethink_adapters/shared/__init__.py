"""Parts of several adapters: recalling into prompts, remembering turns, texts of messages."""
