"""The verbs: what each does, a file for each; the store checks arguments and forwards to them."""
