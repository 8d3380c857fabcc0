"""Adapters that put bethink behind the memory interfaces of agent frameworks.

One module per framework, imported by name (`from bethink_adapters.autogen import AgentMemory`).
Importing this package loads none of them, and importing an adapter does not load its framework.
"""
