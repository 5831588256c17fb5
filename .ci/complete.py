"""Check that wheel and sdist contain every file of the package, byte for byte.

Run in a checkout: ``python .ci/complete.py dist``.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ALSO_IN_SDIST = ("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "pyproject.toml")


def package_files(root: Path) -> dict[str, bytes]:
    """Return the files of the package in the checkout, by their paths."""
    source = root / "src"
    paths = (path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(source).as_posix(): path.read_bytes() for path in paths if path.suffix != ".pyc"}


def in_wheel(file: Path) -> dict[str, bytes]:
    """Return the files of a wheel, without metadata."""
    with zipfile.ZipFile(file) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}


def in_sdist(file: Path) -> dict[str, bytes]:
    """Return the files of an sdist, by their paths in its top folder."""
    found = {}
    with tarfile.open(file) as sdist:
        for member in sdist.getmembers():
            content = sdist.extractfile(member) if member.isfile() else None
            if content is not None:
                found[member.name.partition("/")[2]] = content.read()
    return found


def differences(wanted: dict[str, bytes], found: dict[str, bytes]) -> list[str]:
    """Return the names that are in only one of them, or whose contents differ."""
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def problems(root: Path, dist: Path) -> list[str]:
    """Return the problems of the wheel and the sdist in a folder."""
    wanted = package_files(root)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    packed = in_sdist(sdist)
    ours = {name.removeprefix("src/"): data for name, data in packed.items() if name.startswith("src/")}
    found = [f"{wheel.name}: {name}" for name in differences(wanted, in_wheel(wheel))]
    found += [f"{sdist.name}: src/{name}" for name in differences(wanted, ours)]
    return found + [f"{sdist.name}: {name} is missing" for name in ALSO_IN_SDIST if name not in packed]


if __name__ == "__main__":
    wrong = problems(Path(), Path(sys.argv[1]))
    print("\n".join(wrong) or f"wheel and sdist have all {len(package_files(Path()))} files of the package")
    sys.exit(1 if wrong else 0)
