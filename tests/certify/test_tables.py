"""Certificates for notebooks, spreadsheets and papers."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

import softmachine as sm
from tests.cli.conftest import Cli, cli

__all__ = ["cli"]


def test_a_certificate_is_plain_data_csv_and_html() -> None:
    certificate = sm.certificate("palindrome", length=40)
    facts = json.loads(json.dumps(certificate.to_json()))
    rows = list(csv.DictReader(certificate.to_csv().splitlines()))
    assert [row["head"] for row in rows] == [row["head"] for row in facts["error_budget"]]
    for row, fact in zip(rows, facts["error_budget"], strict=True):
        assert (float(row["margin"]), int(row["length"]), row["holds"]) == (certificate.margin, 40, "true")
        assert float(row["error_out"]) == fact["error_out"]
        assert row["gap"] == ("" if fact["gap"] == "–" else fact["gap"])
    html = certificate._repr_html_()
    assert html.count("<tr>") == len(rows) + 1
    assert "margin of the logits ≥ 0.8" in html
    assert "last write" in html


def test_what_html_would_take_for_its_own_is_escaped() -> None:
    html = sm.certificate("#<[Q_a] = 2", length=4)._repr_html_()
    assert set(re.findall(r"</?(\w*)", html)) == {"div", "table", "thead", "tbody", "tr", "th", "td"}


def test_latex_has_a_line_a_head_and_nothing_that_latex_cannot_print() -> None:
    for source in ("palindrome", "odd(#<[Q_1])", "#<[Q_a] = 2"):
        certificate = sm.certificate(source, length=20)
        text = certificate.to_latex()
        lines = text.splitlines()
        assert (lines[0], lines[-1]) == (r"\begin{tabular}{rlllllrr}", r"\end{tabular}")
        assert text.isascii()
        table = [line for line in lines if line.endswith(r"\\") and "multicolumn" not in line]
        assert len(table) == len(certificate.rows) + 1
        for line in table:
            assert len(re.findall(r"(?<!\\)&", line)) == 7
            assert not re.search(r"(?<!\\)[#%_]", re.sub(r"\$[^$]*\$", "", line))
        assert text.count("{") == text.count("}")


def test_a_certificate_that_fails_says_so_everywhere() -> None:
    certificate = sm.certificate("Q_a since Q_b", length=100, sharpness=1)
    assert not certificate.holds
    assert "fails: " in certificate.to_latex()
    assert "fails: " in certificate._repr_html_()
    assert {row["holds"] for row in csv.DictReader(certificate.to_csv().splitlines())} == {"false"}


def test_certify_writes_what_is_asked_for_and_says_where(cli: Cli, tmp_path: Path) -> None:
    files = {ending: tmp_path / f"table.{ending}" for ending in ("csv", "tex", "svg")}
    asked = ("--csv", files["csv"], "--latex", files["tex"], "--plot", files["svg"])
    called = cli("certify", "Q_a since Q_b", "--length", 4, *asked)
    assert called.status == 0
    for name, file in (("csv", "csv"), ("latex", "tex"), ("plot", "svg")):
        assert f"  {name} written to {files[file]}\n" in called.out
    certificate = sm.certificate("Q_a since Q_b", length=4)
    assert (files["csv"].read_text(), files["tex"].read_text()) == (certificate.to_csv(), certificate.to_latex())
    again = cli("certify", "Q_a since Q_b", "--length", 4, "--csv", files["csv"])
    assert (again.status, again.out) == (2, "")
    assert "exists already" in again.err
    answer = cli("certify", "Q_a since Q_b", "--length", 4, "--csv", tmp_path / "other.csv", "--json").json
    assert answer["csv"] == str(tmp_path / "other.csv")


def test_curves_that_coincide_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    from softmachine.certify.empirical import draw_margins

    drawn: list[Figure] = []
    save = Figure.savefig

    def saved(figure: Figure, *given: object, **more: object) -> None:
        drawn.append(figure)
        save(figure, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "savefig", saved)
    model = sm.compile("Q_a since Q_b")
    draw_margins(
        "since", lambda n, sharpness: sm.certificate(model, length=n, sharpness=sharpness), 8, tmp_path / "a.png"
    )
    curves = drawn[0].axes[0].get_lines()
    assert len(curves) == 4
    assert len({tuple(curve.get_ydata()) for curve in curves}) == 1, "these should coincide"  # type: ignore[arg-type]
    widths = [curve.get_linewidth() for curve in curves]
    assert widths == sorted(set(widths), reverse=True), "what is drawn later must not hide what is below"
    assert len({curve.get_color() for curve in curves}) == 4
