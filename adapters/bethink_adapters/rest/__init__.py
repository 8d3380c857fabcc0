"""The REST server: one memory file over HTTP. ``app.create_app`` makes the ASGI application.

Needs the extra ``server``: ``pip install 'bethink[server]'``. See docs/rest.md.
"""
