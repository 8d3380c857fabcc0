"""LangGraph remembers in bethink.

Importing this package loads no framework; making one of its objects does.
"""
