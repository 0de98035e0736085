"""The colours of the page: every text can be read on every ground that it stands on, in light and dark."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

Colour = tuple[float, float, float]

STYLE = files("flows.reporting.html").joinpath("assets", "style.css").read_text("utf-8")
TEXTS = ("ink", "muted", "accent", "kept", "gone", "change")
AA = 4.5
"""The least contrast of text (WCAG 2.2, 1.4.3), which axe-core checks too."""


def palette(selector: str) -> dict[str, Colour]:
    """The colours that a theme has by name, each channel from 0 to 1."""
    block = STYLE[STYLE.index(selector) :].partition("}")[0]
    found = {}
    for name, digits in re.findall(r"--([\w-]+): #(\w+)", block):
        wide = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
        red, green, blue = (int(wide[i : i + 2], 16) / 255 for i in (0, 2, 4))
        found[name] = (red, green, blue)
    return found


def contrast(one: Colour, other: Colour) -> float:
    """Contrast ratio of WCAG 2.2, 1 to 21."""

    def luminance(colour: Colour) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """So much of one colour in another, as ``color-mix`` in sRGB."""
    red, green, blue = (share * a + (1 - share) * b for a, b in zip(one, other, strict=True))
    return red, green, blue


@pytest.mark.parametrize("theme", [":root {", ':root[data-theme="dark"] {', ':root:not([data-theme="light"]) {'])
def test_every_text_can_be_read(theme: str) -> None:
    colours = palette(theme)
    grounds = {
        "paper": colours["paper"],
        "soft": colours["soft"],
        "dropped": mix(colours["gone"], colours["paper"], 0.06),
        "edited": mix(colours["change"], colours["paper"], 0.08),
    }
    pairs = [(colours[text], ground, f"{text} on {name}") for text in TEXTS for name, ground in grounds.items()]
    pairs += [
        (colours[a], colours[b], f"{a} on {b}") for a, b in (("ink", "warn"), ("paper", "accent"), ("paper", "ink"))
    ]
    assert {name: round(contrast(a, b), 2) for a, b, name in pairs if contrast(a, b) < AA} == {}


def test_the_measure_is_that_of_the_standard() -> None:
    assert round(contrast((0, 0, 0), (1, 1, 1)), 2) == 21
    grey = 0x77 / 255
    assert round(contrast((grey, grey, grey), (1, 1, 1)), 2) == 4.48
