"""How words are put to a transformer that works on the configuration graph, and how its answer is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from softmachine.codec import Interface, Outcome, Prompt
from softmachine.errors import InputError, SourceError
from softmachine.languages.turing import TuringMachine, execute
from softmachine.languages.turing.json_form import machine_from_json, machine_to_json
from softmachine.theorems.configuration_graph.theorem import PAD, Configurations, answer_position
from softmachine.theorems.connectivity import theorem as connectivity
from softmachine.theorems.shared.turing_tokens import OfMachine


@dataclass(frozen=True)
class ConfigurationCodec(OfMachine):
    """The word, blanks up to n letters, then padding; one position says whether the machine accepts."""

    machine: TuringMachine
    length: int
    kind: str = "turing"

    @cached_property
    def configurations(self) -> Configurations:
        """The configurations on words of this length."""
        return Configurations(self.machine, self.length)

    def prompt(self, word: str | Iterable[str]) -> Prompt:
        """The word, blanks and padding.

        Raises:
            InputError: If the word is longer than the length that the weights are for.
        """
        symbols = self.machine.word(word)
        if len(symbols) > self.length:
            raise InputError(
                f"the word has {len(symbols)} letters, but the weights are for at most {self.length}",
                hint="compile for a larger length",
            )
        blanks = [self.machine.blank] * (self.length - len(symbols))
        padding = [PAD] * connectivity.positions(self.configurations.vertices)
        return Prompt((*symbols, *blanks, *padding), self.length)

    def interface(self) -> Interface:
        """One position says whether the machine accepts."""
        at = answer_position(self.configurations)
        return Interface(
            symbols=self.alphabet,
            meaning="At one position it is whether the machine accepts; elsewhere it means nothing.",
            outputs=(("accepts", at),),
            verdict=at,
        )

    def expected(self, word: str | Iterable[str], max_steps: int) -> Iterator[str | None]:
        """The verdict at the one position that says it."""
        del max_steps
        # A machine that only reads and makes more steps than it has configurations goes on forever.
        result = execute(self.machine, self.machine.word(word), max_steps=self.configurations.vertices)
        at = answer_position(self.configurations)
        for position in range(len(self.prompt(word).tokens)):
            accepted = result.verdict is not None and str(result.verdict) == "accept"
            yield ("true" if accepted else "false") if position == at else None

    def read(self, word: str | Iterable[str], said: Sequence[str]) -> Outcome:
        """Accepted if an accepting configuration can be reached."""
        del word
        accepted = said[answer_position(self.configurations)] == "true"
        return Outcome(verdict="accept" if accepted else "reject", steps=0, output="")

    def to_json(self) -> dict[str, object]:
        """The machine, and the length."""
        return {
            "kind": self.kind,
            "codec": "configurations",
            "length": self.length,
            "machine": machine_to_json(self.machine),
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> ConfigurationCodec:
        """The codec that :meth:`to_json` described."""
        try:
            length, machine = int(data["length"]), data["machine"]
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(f"this is not a machine with a length: {error!r}") from None
        return ConfigurationCodec(machine_from_json(machine), length)
