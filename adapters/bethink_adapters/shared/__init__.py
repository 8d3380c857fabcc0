"""What several adapters share: recalling into prompts, remembering turns, texts of messages."""
