"""What codecs say of how a run looks: for every entry of the zoo, the picture fits the tokens, and follows them."""

from __future__ import annotations

import pytest

from softmachine.languages.run_view import (
    CountersPicture,
    GraphPicture,
    RowsPicture,
    RunView,
    TapesPicture,
    TokenWindow,
    WiresPicture,
)
from softmachine.languages.zoo import list_entries
from softmachine.theorems import find_theorem

KINDS = {
    "turing": TapesPicture,
    "temporal": RowsPicture,
    "srasp": RowsPicture,
    "rasp": RowsPicture,
    "crasp": RowsPicture,
    "counter": CountersPicture,
    "circuit": WiresPicture,
    "graph": GraphPicture,
    "family": WiresPicture,
    "logspace": RowsPicture,
}


def scene_of(name: str) -> tuple[RunView, list[str], str]:
    entry = next(entry for entry in list_entries() if entry.name == name)
    source = entry.load()
    sample = max(entry.samples, key=lambda one: len(one.input) if len(one.input) < 12 else 0)
    theorem = find_theorem(source, None)
    codec = theorem.build_codec(source, len(source.word(sample.input)) if theorem.length else None)
    prompt = codec.prompt(sample.input)
    said = [token or "" for token in codec.expected(sample.input, 50)] if codec.is_autoregressive else []
    tokens = [*prompt.tokens, *said]
    tokens = tokens[:-1] if said else tokens
    return (
        codec.run_view(sample.input, TokenWindow(tokens, 0, len(tokens) - len(prompt.tokens))),
        tokens,
        source.language,
    )


@pytest.mark.parametrize("name", [entry.name for entry in list_entries()])
def test_every_entry_of_the_zoo_has_a_picture(name: str) -> None:
    scene, tokens, language = scene_of(name)
    assert scene.lines
    assert isinstance(scene.picture, KINDS[language])
    assert len(scene.active_lines) in (0, len(tokens))
    assert all(line is None or 0 <= line < len(scene.lines) for line in scene.active_lines)
    assert len(scene.line_names) in (0, len(scene.lines))
    match scene.picture:
        case RowsPicture(word=word, rows=rows):
            assert list(word) == tokens
            assert all(len(values) == len(tokens) for _, values in rows)
        case WiresPicture(positions=positions) | GraphPicture(positions=positions):
            assert len(positions) == len(tokens)
        case TapesPicture(actions=actions) | CountersPicture(actions=actions):
            assert set(actions) <= set(tokens)


@pytest.mark.parametrize("name", ["palindrome", "busy-beaver-4", "gcd-counter"])
def test_the_line_in_force_says_what_comes_next(name: str) -> None:
    scene, tokens, language = scene_of(name)
    picture = scene.picture
    assert isinstance(picture, TapesPicture | CountersPicture)
    for place, line in enumerate(scene.active_lines[:-1]):
        if line is not None:
            state = picture.actions[tokens[place + 1]][0]
            said = scene.lines[line]
            assert said.endswith(f" {state}") if language == "turing" else f"-> {state}" in said
