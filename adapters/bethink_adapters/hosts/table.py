"""The hosts: where each keeps servers and hooks, and in which form.

Sources: the hosts' documentation, and files that the hosts' own commands wrote (November 2026).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ..surface.location import home_folder

Shape = Literal["stdio", "typed", "local", "list", "toml"]
"""The form of a server's entry: command and args; with a type; one list; a TOML table."""


@dataclass(frozen=True)
class Hooks:
    """Where hooks are, and the names of the events: start of a session, prompt, end of a turn.

    The file has the same *path* in a project and in the home. *nested* hooks sit in groups with a
    matcher. *unit* is the number of time units in a second.
    """

    path: str
    start: str
    prompt: str
    stop: str
    nested: bool = True
    unit: int = 1
    versioned: bool = False


@dataclass(frozen=True)
class Host:
    """A host: *user* and *project* are paths of settings, *root* the key of the servers.

    *folder* is there if the host is; by default the folder of *user*. *wants* tells the user what
    to do next. Paths begin with a variable: ``~`` (home), ``$config`` (settings of desktop
    programs), ``$code`` (Visual Studio Code's user folder).
    """

    name: str
    title: str
    user: str
    project: str | None
    root: str = "mcpServers"
    shape: Shape = "stdio"
    folder: str = ""
    wants: str = "restart {title}"
    hooks: Hooks | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.folder or self.user.rpartition("/")[0])


_CLAUDE_EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop")
_NEW_SESSION: Final = "start a new session"
_CLINE: Final = "$code/globalStorage/saoudrizwan.claude-dev"
_ROO: Final = "$code/globalStorage/rooveterinaryinc.roo-cline"

HOSTS: Final[Mapping[str, Host]] = {
    host.name: host
    for host in (
        Host(
            "claude-code",
            "Claude Code",
            "~/.claude.json",
            ".mcp.json",
            shape="typed",
            folder="~/.claude",
            wants=f"{_NEW_SESSION}; a project's server asks for approval once",
            hooks=Hooks(".claude/settings.json", *_CLAUDE_EVENTS),
        ),
        Host("claude-desktop", "Claude Desktop", "$config/Claude/claude_desktop_config.json", None),
        Host(
            "codex",
            "Codex",
            "~/.codex/config.toml",
            ".codex/config.toml",
            "mcp_servers",
            "toml",
            wants="run /hooks once and trust the hooks, or Codex leaves them out",
            hooks=Hooks(".codex/hooks.json", *_CLAUDE_EVENTS),
        ),
        Host(
            "gemini",
            "Gemini CLI",
            "~/.gemini/settings.json",
            ".gemini/settings.json",
            wants=f"{_NEW_SESSION}; trust the folder for a project's settings",
            hooks=Hooks(
                ".gemini/settings.json", "SessionStart", "BeforeAgent", "AfterAgent", unit=1_000
            ),
        ),
        Host(
            "cursor",
            "Cursor",
            "~/.cursor/mcp.json",
            ".cursor/mcp.json",
            hooks=Hooks(
                ".cursor/hooks.json",
                "sessionStart",
                "beforeSubmitPrompt",
                "stop",
                nested=False,
                versioned=True,
            ),
        ),
        Host(
            "vscode",
            "Visual Studio Code",
            "$code/mcp.json",
            ".vscode/mcp.json",
            "servers",
            "typed",
            wants="start the server in the list of MCP servers; Settings Sync copies the path",
        ),
        Host(
            "copilot-cli",
            "Copilot CLI",
            "~/.copilot/mcp-config.json",
            ".github/mcp.json",
            shape="local",
            wants=_NEW_SESSION,
        ),
        Host(
            "opencode",
            "OpenCode",
            "~/.config/opencode/opencode.json",
            "opencode.json",
            "mcp",
            "list",
            wants=_NEW_SESSION,
        ),
        Host("windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json", None),
        Host(
            "cline",
            "Cline",
            f"{_CLINE}/settings/cline_mcp_settings.json",
            None,
            folder=_CLINE,
            wants="reload the window",
        ),
        Host(
            "roo",
            "Roo Code",
            f"{_ROO}/settings/mcp_settings.json",
            ".roo/mcp.json",
            folder=_ROO,
            wants="reload the window",
        ),
        Host(
            "kiro", "Kiro", "~/.kiro/settings/mcp.json", ".kiro/settings/mcp.json", folder="~/.kiro"
        ),
        Host("lm-studio", "LM Studio", "~/.lmstudio/mcp.json", None),
        Host(
            "amazon-q",
            "Amazon Q",
            "~/.aws/amazonq/mcp.json",
            ".amazonq/mcp.json",
            wants=_NEW_SESSION,
        ),
        Host("antigravity", "Antigravity", "~/.gemini/antigravity/mcp_config.json", None),
        Host(
            "zed",
            "Zed",
            "~/.config/zed/settings.json",
            ".zed/settings.json",
            "context_servers",
            wants="nothing: Zed reads its settings again",
        ),
    )
}
"""Every host by name."""


def place(path: str, environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the file of a *path* in the table, on *platform*."""
    home = home_folder(environment)
    if platform == "darwin":
        config = home / "Library" / "Application Support"
    elif platform == "win32":
        config = Path(environment.get("APPDATA") or home / "AppData" / "Roaming")
    else:
        config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    claude = environment.get("CLAUDE_CONFIG_DIR")
    moved = {
        "~/.codex": environment.get("CODEX_HOME"),
        "~/.claude": claude,
        "~/.claude.json": f"{claude}/.claude.json" if claude else None,
        "~": str(home),
        "$config": str(config),
        "$code": str(config / "Code" / "User"),
    }
    for start, target in moved.items():
        if target and (path == start or path.startswith(f"{start}/")):
            return Path(target + path[len(start) :].replace("/", os.sep))
    return Path(path)
