"""Adapters put bethink behind the memory interfaces of agent frameworks.

Each framework has a module, imported by name (`from bethink_adapters.autogen import AgentMemory`).
Importing the package loads no adapter, and importing an adapter loads no framework.
"""
