"""``softmachine theorems --table``: the conditions of every theorem, in a row each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from softmachine.cli import theorems as command
from softmachine.theorems import Requirements, all_theorems, get_theorem
from tests.cli.conftest import Cli


def test_every_theorem_has_a_row_with_its_scale_and_its_position_encoding(cli: Cli) -> None:
    out = cli("theorems", "--table").out
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    for theorem in all_theorems():
        assert isinstance(theorem.requirements, Requirements)
        assert theorem.requirements.scale or theorem.attentions == ("hard",), theorem.name
        assert (theorem.requirements.scale or "hard attention").split()[0] in rows[theorem.name]
    assert "O(i²)" in rows["temporal-masked"]


def test_the_table_says_of_temporal_logic_what_figure_1_says(cli: Cli) -> None:
    """Low temperature and bounded features, or temperature 1 and features that grow, to n³ where it counts."""
    answer = {row["name"]: row for row in cli("theorems", "--table", "--json").json["theorems"]}
    assert answer["temporal-encoder"]["scale"].startswith("O(n)")
    assert answer["temporal-encoder"]["positions"].startswith("bounded")
    assert answer["temporal-encoder-unbounded-positions"]["scale"] == "1"
    assert "n³" in answer["temporal-encoder-unbounded-positions"]["positions"]
    assert answer["turing-average-hard"]["scale"] is None


def test_one_theorem_has_a_table_of_its_own(cli: Cli) -> None:
    out = cli("theorems", "srasp", "--table").out
    assert "srasp" in out
    assert "crasp" not in out


@pytest.mark.parametrize(
    ("name", "cited", "not_cited"),
    [
        ("srasp", ("Using Soft Attention, Section 6", "Strobl et al. 2024"), ("Section 5", "Appendix E")),
        ("temporal-layer-norm", ("Figure 1 (†)", "without ε"), ("(11d)", "B.3")),
        ("automaton-layer-norm", ("Figure 1 (†)", "without ε"), ("(11d)", "B.3")),
    ],
)
def test_references_name_what_the_construction_follows(
    name: str, cited: tuple[str, ...], not_cited: tuple[str, ...]
) -> None:
    """S-RASP is in Section 6; no norm is around attention (11d), and none has the ε of section B.3."""
    theorem = get_theorem(name)
    assert theorem is not None
    assert all(text in theorem.reference for text in cited)
    for claim in (theorem.statement, theorem.reference, *map(str, theorem.tour)):
        assert not any(text in claim for text in not_cited)


@pytest.mark.parametrize(("attentions", "shown"), [(("soft",), "–"), (("hard",), "hard attention")])
def test_a_theorem_that_says_its_needs_in_a_sentence_is_listed_with_the_sentence(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, attentions: tuple[str, ...], shown: str
) -> None:
    found = get_theorem("turing-average-hard")
    assert found is not None
    monkeypatch.setattr(command, "_find", lambda _: replace(found, requirements="a lamp", attentions=attentions))
    row = next(line for line in cli("theorems", "mine", "--table").out.splitlines() if "a lamp" in line)
    assert shown in row


def test_needs_read_as_one_line() -> None:
    needs = Requirements("i", scale="O(n)", length_note="the length").with_remark("only the past")
    assert str(needs) == "the length; i; scale O(n); only the past"
    assert str(Requirements("i")) == "i"
