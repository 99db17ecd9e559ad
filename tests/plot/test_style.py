from __future__ import annotations

import itertools

import numpy as np

from textmill.plot.style import COLORS, FONT, INK, MUTED, fonts, look

# dichromats' view of linear RGB, full severity: Machado, Oliveira & Fernandes (2009)
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(color: str) -> np.ndarray:
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / (0.95047, 1, 1.08883)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_colors_are_told_apart_with_every_kind_of_vision() -> None:
    for view in VISION.values():
        seen = [lab(np.asarray(view) @ linear(color)) for color in COLORS]
        assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) > 15


def test_the_first_twenty_looks_differ_in_colour_and_no_two_are_the_same() -> None:
    assert len({look(i).color for i in range(20)}) == 20
    assert len({look(i) for i in range(120)}) == 120


def test_text_has_contrast_on_white() -> None:
    for color in (INK, MUTED):
        luminance = float(TO_XYZ[1] @ linear(color))
        assert 1.05 / (luminance + 0.05) > 4.5


def test_the_first_font_comes_with_matplotlib_and_the_others_are_installed() -> None:
    from matplotlib.font_manager import findfont

    assert fonts()[0] == FONT
    for family in fonts():
        findfont(family, fallback_to_default=False)
