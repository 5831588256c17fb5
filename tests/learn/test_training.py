"""Training learns, is deterministic, and resumes after an interruption with the same result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

from softmachine.studies.learn import training  # noqa: E402
from softmachine.studies.learn.config import Schedule, TrainingConfig  # noqa: E402
from softmachine.studies.learn.data import load_corpus  # noqa: E402
from softmachine.studies.learn.metrics import evaluate  # noqa: E402
from softmachine.studies.learn.model import Decoder  # noqa: E402
from softmachine.studies.learn.training import Progress, learning_rate, max_word_length, train  # noqa: E402
from softmachine.support.errors import SourceError  # noqa: E402
from tests.learn.helpers import parity, setting  # noqa: E402


def weights(decoder: Decoder) -> dict[str, object]:
    return {name: each.tolist() for name, each in decoder.state_dict().items()}


def test_a_tiny_model_learns_what_chance_does_not_know() -> None:
    corpus = load_corpus(parity())
    decoder, progress = train(setting(steps=120), corpus)
    (_, first, before), *_, (_, last, after) = progress.losses
    found = evaluate(decoder, corpus, corpus.tests["test0"])
    assert last < first / 4
    assert after >= 0.9 > before
    assert found.exact >= 0.9
    assert found.exact > 2 * found.same_trace
    assert found.verdict is not None
    assert found.verdict > found.same_verdict


def test_the_same_seed_gives_the_same_weights_and_another_others() -> None:
    corpus = load_corpus(parity())
    torch.manual_seed(5)
    first, _ = train(setting(steps=6), corpus)
    torch.manual_seed(6)
    again, _ = train(setting(steps=6), corpus)
    other, _ = train(setting(steps=6, seed=1), corpus)
    assert weights(first) == weights(again) != weights(other)


class _InterruptedError(Exception):
    pass


@pytest.mark.parametrize("at", [1, 7, 10])
def test_interrupted_and_resumed_is_uninterrupted(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SAVE_SECONDS", 0.0)
    corpus, kept, one = load_corpus(parity()), tmp_path / "state", setting(steps=14, every=5)

    def interrupt(progress: Progress) -> None:
        if progress.step == at:
            raise _InterruptedError

    with pytest.raises(_InterruptedError):
        train(one, corpus, state_file=kept, on_step=interrupt)
    resumed, progress = train(one, corpus, state_file=kept)
    whole, uninterrupted = train(one, corpus)
    assert weights(resumed) == weights(whole)
    assert progress.losses == [list(each) if at >= each[0] else each for each in uninterrupted.losses]


def test_the_state_of_another_training_is_not_gone_on_from(tmp_path: Path) -> None:
    corpus, kept = load_corpus(parity()), tmp_path / "state"
    train(setting(steps=2), corpus, state_file=kept)
    with pytest.raises(SourceError, match="another training"):
        train(setting(steps=3), corpus, state_file=kept)
    kept.write_bytes(kept.read_bytes()[:-100])
    with pytest.raises(SourceError, match="not the state of a training run"):
        train(setting(steps=2), corpus, state_file=kept)


def limited(**limits: float) -> TrainingConfig:
    one = setting(steps=400, every=10)
    return replace(one, schedule=replace(one.schedule, **limits))  # type: ignore[arg-type]


def test_it_ends_when_validation_is_all_right_or_when_time_is_over() -> None:
    corpus = load_corpus(parity())
    _, converged = train(limited(patience=2), corpus)
    assert converged.ended == "converged"
    assert [share for *_, share in converged.losses[-2:]] == [1.0, 1.0]
    _, late = train(limited(minutes=1e-6), corpus)
    assert (late.ended, late.step) == ("time", 1)


def test_the_rate_rises_and_then_falls_and_words_get_longer() -> None:
    schedule = Schedule(steps=100, warm_up=0.1, floor=0.02, learning_rate=1.0, curriculum=0.5)
    rates = [learning_rate(schedule, step) for step in range(100)]
    assert rates[:10] == sorted(rates[:10])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert max(rates) == 1.0
    assert 0.02 <= rates[-1] < 0.03
    assert [max_word_length(schedule, step, 40) for step in (0, 25, 50, 99)] == [10, 25, 40, 40]
