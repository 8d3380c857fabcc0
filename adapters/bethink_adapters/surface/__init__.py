"""Shared by the command line, MCP and REST; of the modules, only ``verbs`` needs the core."""
