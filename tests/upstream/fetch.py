"""Fetch chosen files of a release's source archive: other projects' own tests, run but never kept.

    python tests/upstream/fetch.py langchain-core==1.8.3 tests/unit_tests/chat_history --into DIR

copies every file of that release below one of the given prefixes into DIR. `--beside FOLDER` adds
the files of a folder of ours (the plugin and the pytest.ini that point those tests at bethink).
It calls pip, which must be installed beside the interpreter that runs it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath


def download(requirement: str, folder: Path) -> Path:
    """Download the source archive of `requirement` (`name==version`) and return its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--no-binary", requirement.partition("==")[0], "--dest", str(folder), requirement]
    subprocess.run(command, check=True)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def extract(archive: Path, prefixes: Sequence[str], into: Path) -> list[str]:
    """Copy the archive's files below `prefixes` into `into`, without its top folder."""
    wanted = [PurePosixPath(prefix) for prefix in prefixes]
    copied = []
    with tarfile.open(archive) as tar:
        for member in tar:
            name = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            content = tar.extractfile(member) if member.isfile() else None
            if content and ".." not in name.parts and any(map(name.is_relative_to, wanted)):
                (into / name).parent.mkdir(parents=True, exist_ok=True)
                (into / name).write_bytes(content.read())
                copied.append(str(name))
    missing = [p for p in wanted if not any(PurePosixPath(n).is_relative_to(p) for n in copied)]
    if missing:
        raise SystemExit(f"{archive.name} has no {', '.join(map(str, missing))}")
    return copied


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Fetch files of a release's source archive.")
    parser.add_argument("requirement", help="name==version")
    parser.add_argument("prefix", nargs="+", help="file or folder inside the archive")
    parser.add_argument("--into", type=Path, required=True, help="emptied first if we made it")
    parser.add_argument("--beside", type=Path, help="folder whose files are copied into it as well")
    options = parser.parse_args(arguments)
    stamp = options.into / ".fetched"
    if stamp.exists():
        shutil.rmtree(options.into)
    options.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        names = extract(download(options.requirement, Path(folder)), options.prefix, options.into)
    if options.beside:
        ours = (path for path in options.beside.iterdir() if path.is_file())
        names += [Path(shutil.copy(path, options.into)).name for path in ours]
    stamp.write_text("\n".join([options.requirement, *sorted(names), ""]), encoding="utf-8")
    print(f"{options.requirement}: {len(names)} files in {options.into}")


if __name__ == "__main__":
    main()
