"""mcp: a server of the Model Context Protocol over one memory file.

    python -m bethink_adapters.mcp --db ~/memory.db        # for hosts: standard input and output
    python -m bethink_adapters.mcp --http 8765             # the same at http://127.0.0.1:8765/mcp

Nine tools (``--tools all``: fourteen), three resources, three prompts. The server speaks 2026-07-28
and the handshake versions back to 2024-11-05 without a package beside bethink. The memory core is
imported after the first answer.
"""

from .protocol import Server
from .server import MemoryServer, Options

__all__ = ["MemoryServer", "Options", "Server"]
