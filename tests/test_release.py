"""A release that could be made today: versions agree, only what was run is claimed, and nothing is missing."""

from __future__ import annotations

import importlib.util
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import softmachine

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))


def test_all_places_name_the_same_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/softmachine/support/__init__.py"
    assert softmachine.__version__ == str(citation["version"]) == headings[0]
    assert len(set(headings)) == len(headings)


def test_authors_are_those_of_the_citation() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert PROJECT["project"]["authors"] == citation["authors"] == [{"name": "softmachine contributors"}]


def test_the_workflow_runs_what_is_run_here_on_every_python_that_is_claimed() -> None:
    (job,) = WORKFLOW["jobs"].values()
    assert job["steps"][-1] == {"run": ".ci/run"}
    prefix = "Programming Language :: Python :: 3."
    claimed = [line.removeprefix(prefix) for line in PROJECT["project"]["classifiers"] if line.startswith(prefix)]
    assert [f"3.{minor}" for minor in claimed] == job["strategy"]["matrix"]["python-version"]
    assert PROJECT["project"]["requires-python"] == f">=3.{claimed[0]}"


def test_issue_templates_are_forms_that_ask_for_something() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.name != "config.yml":
            assert form["name"]
            assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_torch_is_a_range_that_holds_the_version_that_is_tested() -> None:
    (wanted,) = (line for line in PROJECT["project"]["optional-dependencies"]["hf"] if line.startswith("torch"))
    (pinned,) = re.findall(r"^torch==(\d+)\.(\d+)", (ROOT / ".ci" / "constraints.txt").read_text(), re.MULTILINE)
    assert wanted == f"torch>={pinned[0]}.{pinned[1]},<{int(pinned[0]) + 1}"


@pytest.fixture
def complete() -> ModuleType:
    """The script that sees whether anything is missing."""
    spec = importlib.util.spec_from_file_location("complete", ROOT / ".ci" / "complete.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_file_that_is_missing_or_differs_in_what_was_built_is_found(complete: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "src" / "p" / "zoo").mkdir(parents=True)
    (tmp_path / "src" / "p" / "a.py").write_text("a")
    (tmp_path / "src" / "p" / "zoo" / "b.yaml").write_text("b")
    dist = tmp_path / "dist"
    dist.mkdir()
    with zipfile.ZipFile(dist / "p-1.whl", "w") as wheel:
        wheel.writestr("p/a.py", "a")
        wheel.writestr("p/zoo/b.yaml", "other")
        wheel.writestr("p-1.dist-info/METADATA", "")
    with tarfile.open(dist / "p-1.tar.gz", "w:gz") as sdist:
        sdist.add(tmp_path / "src" / "p" / "a.py", "p-1/src/p/a.py")
    found = complete.problems(tmp_path, dist)
    assert found[:2] == ["p-1.whl: p/zoo/b.yaml", "p-1.tar.gz: src/p/zoo/b.yaml"]
    assert "p-1.tar.gz: README.md is missing" in found
