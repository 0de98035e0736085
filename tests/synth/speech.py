"""What people and agents say: sentences about the project at hand, as many as a size asks for."""

from __future__ import annotations

from random import Random

from tests.synth import words
from tests.synth.project import Project

Patterns = tuple[str, ...]

SHORT = 40
"""Characters of a text that is no sentence of its own."""


class Speech:
    """The voice of one session: sentences that speak of its project's names and files."""

    def __init__(self, chance: Random, project: Project) -> None:
        self._chance, self._project = chance, project

    def filled(self, pattern: str, file: str | None = None) -> str:
        """A pattern with names of the project in it."""
        project, drawn = self._project, self._chance.randbytes(7)
        at = drawn[0] % len(project.files)
        return pattern.format(
            f=file or project.files[at],
            t=project.tests[at],
            a=project.names[drawn[2]],
            b=project.names[drawn[3]],
            c=project.components[drawn[4] & 31],
            p=" ".join(project.packages[drawn[1] % len(project.packages)]),
            n=(drawn[5] << 8 | drawn[6]) % 900 + 2,
        )

    def one(self, patterns: Patterns) -> str:
        """One sentence."""
        return self.filled(patterns[int(self._chance.random() * len(patterns))])

    def decision(self) -> str:
        """A choice with its reason, or a cause."""
        if self._chance.random() < 0.2:
            return self.one(words.CAUSES)
        return f"{self.one(words.CHOICES)}, {self.one(words.REASONS)}."

    def text(self, size: int, leading: tuple[str, ...] = ()) -> str:
        """Prose of about ``size`` characters that begins with some sentences; long ones have headings and lists."""
        if size < SHORT:
            return leading[-1] if leading else self.one(words.SHORT)
        said: list[str] = []
        parts: list[str] = []
        length, ready = 0, iter(leading)
        while True:
            sentence = next(ready, "") or self.one(words.REMARKS)
            if length and length + len(sentence) // 2 > size:  # the nearer end, so that the mean is kept
                break
            said.append(sentence)
            length += len(sentence) + 1
            if len(said) > 5:
                parts.append(self._paragraph(said))
                said = []
        if said:
            parts.append(" ".join(said))
        return "\n\n".join(parts)

    def _paragraph(self, said: list[str]) -> str:
        drawn = self._chance.random()
        if drawn < 0.3:
            return "\n".join(f"- {sentence}" for sentence in said)
        if drawn < 0.4:
            return f"## {self._chance.choice(self._project.components).title()}\n\n" + " ".join(said)
        return " ".join(said)

    def request(self, size: int, pasted: str = "") -> str:
        """What a person asks for first: the wish, what must not happen, and perhaps an error."""
        leading = [self.one(words.REQUESTS if size >= SHORT else words.SHORT_ASKS)]
        if size > 250:
            leading += [self.one(words.CONSTRAINTS) for _ in range(1 + (size > 900))]
        text = self.text(max(size - len(pasted), 12), tuple(leading))
        return f"{text}\n\n{pasted}" if pasted else text
