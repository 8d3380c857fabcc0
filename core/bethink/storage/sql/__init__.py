"""The statements that SQLite and Postgres share, written in SQLite's dialect."""
