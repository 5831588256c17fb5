"""The page's script in node: layer norm, and unique-hard heads with ties.

The tests beside this one need a browser; this one needs none, and looks at numbers only.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from typing import Any

import pytest

import softmachine as sm
from softmachine.engines.result import Run
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.page.run_json import build_page_data
from softmachine.support.errors import UsageError

NODE = shutil.which("node")
SCRIPTS = ("fractions.js", "model.js", "exact.js", "soft.js")
ASKED = """
const data = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const model = new Model(data);
const places = [...Array(model.count).keys()];
const found = data.soft.still
  ? places.map((position) => [...new Soft(model, data.soft).activations(1, { position, layer: 0, head: 0 }).logits])
  : places.map((p) => new Exact(model).logits(p).map(exactly));
console.log(JSON.stringify(found));
"""


def logits_of_page(run: Run) -> Any:
    """The logits at all positions, computed by the page's script."""
    if NODE is None:
        pytest.skip("needs node")
    web = files("softmachine.inspection.page") / "web"
    script = "\n".join([*((web / name).read_text(encoding="utf-8") for name in SCRIPTS), ASKED])
    data = json.dumps(build_page_data(Inspection(run), None, ""))
    done = subprocess.run([NODE, "-e", script], input=data, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


EXACT = [
    ("#<[Q_a] >= #<[Q_b]", "temporal-layer-norm", "abbaab"),
    ("once (#<[Q_a] > 2 and prev Q_b)", "temporal-layer-norm", "aabab"),
    ("dyck-1-crasp", "crasp-layer-norm", "(())()"),
    ("prev (Q_a and not Q_b)", "temporal-unique-hard", "abaab"),
    ("Q_a since Q_b", "temporal-unique-hard", "abbaa"),
    ("next Q_a or Q_b until Q_a", "temporal-unique-hard", "abba"),
]


@pytest.mark.parametrize(("source", "theorem", "word"), EXACT)
def test_signs_and_single_keys_are_exact(source: str, theorem: str, word: str) -> None:
    run = sm.run(sm.compile(source, theorem, attention="hard"), word)
    moments = Inspection(run).at_positions(range(len(run.prompt.tokens)))
    assert logits_of_page(run) == [[str(value) for value in moment.logits.values] for moment in moments]


@pytest.mark.parametrize("source", ["odd(#<[Q_a])", "prime(#<[Q_a]) and #<[Q_b] > 1", "odd(#<[odd(#<[Q_b])])"])
def test_the_layer_norm_hash_is_computed_in_floats(source: str) -> None:
    run = sm.run(sm.compile(source + " or (Q_a and Q_b)", "temporal-layer-norm"), "abbabba")
    moments = Inspection(run).at_positions(range(len(run.prompt.tokens)))
    expected = [[float(value) for value in moment.logits.values] for moment in moments]
    for found, wanted in zip(logits_of_page(run), expected, strict=True):
        assert found == pytest.approx(wanted, abs=1e-9)


def test_softmax_in_place_of_a_head_that_takes_one_key_is_not_shown_as_certified() -> None:
    data = build_page_data(Inspection(sm.run(sm.compile("prev Q_a", "temporal-unique-hard"), "aa")), None, "")
    assert isinstance(data, dict)
    assert isinstance(data["soft"], dict)
    assert "takes one of the keys that tie" in str(data["soft"]["why"])


def test_a_hash_of_many_positions_is_shown_near_the_beginning_only() -> None:
    run = sm.run(sm.compile("odd(#<[Q_a]) or (Q_a and Q_b)", "temporal-layer-norm"), "ab" * 300)
    with pytest.raises(UsageError, match="can show 500 positions"):
        build_page_data(Inspection(run), 0, "")
