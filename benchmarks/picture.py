"""Small pictures, written by hand as SVG: lines over time, and bars."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

Points = Sequence[tuple[float, float]]

WIDTH: Final = 760
HEIGHT: Final = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 48, 40
_COLOURS: Final = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2")
_TICKS: Final = 5
_BAR: Final = 20
_IN_A_ROW: Final = 4
_STYLE: Final = "font:12px system-ui,sans-serif;background:#fff"


def lines(title: str, series: Mapping[str, Points], x: str, y: str) -> str:
    """One line per name. Both axes begin at 0, so that half the height is half the value."""
    x_end = _round_up(max((point[0] for each in series.values() for point in each), default=1))
    y_end = _round_up(max((point[1] for each in series.values() for point in each), default=1))
    parts = [_heading(title), _axes(x, y, x_end, y_end)]
    for n, (name, points) in enumerate(series.items()):
        colour = _COLOURS[n % len(_COLOURS)]
        path = " ".join(f"{_x(at, x_end):.1f},{_y(value, y_end):.1f}" for at, value in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_legend(n, name, colour))
    return _drawing(parts, HEIGHT + 18 * -(-len(series) // _IN_A_ROW) + 8)


def bars(title: str, groups: Mapping[str, Mapping[str, float]], unit: str) -> str:
    """One row of bars per group, of what each part takes: `{"streams": {"gateway": 12.5}}`."""
    every = [(group, part, value) for group, of in groups.items() for part, value in of.items()]
    longest = _round_up(max((value for _, _, value in every), default=1))
    parts = [_heading(f"{title}, {unit}")]
    for n, (group, part, value) in enumerate(every):
        colour = _COLOURS[list(groups).index(group) % len(_COLOURS)]
        parts.append(_bar(_TOP + n * _BAR, f"{group}: {part}", value, longest, colour))
    return _drawing(parts, _TOP + len(every) * _BAR + 20)


def _bar(top: float, name: str, value: float, longest: float, colour: str) -> str:
    left, room = 270, WIDTH - 270 - 90
    width = max(0.0, room * value / longest)
    return (
        _text(left - 8, top + 14, name, "end")
        + f'<rect x="{left}" y="{top + 2}" width="{width:.1f}" height="{_BAR - 4}"'
        + f' fill="{colour}"/>'
        + _text(left + width + 6, top + 14, shown(value))
    )


def _axes(x: str, y: str, x_end: float, y_end: float) -> str:
    """A grid of five steps each way, with what they mean."""
    parts = [_text(WIDTH / 2, HEIGHT - 8, x, "middle"), _text(8, _TOP - 8, y)]
    for n in range(_TICKS + 1):
        across, up = _x(x_end * n / _TICKS, x_end), _y(y_end * n / _TICKS, y_end)
        parts.append(_line(_LEFT, up, WIDTH - _RIGHT, up))
        parts.append(_text(_LEFT - 6, up + 4, shown(y_end * n / _TICKS), "end"))
        parts.append(_line(across, _TOP, across, HEIGHT - _BOTTOM))
        label = shown(x_end * n / _TICKS)
        parts.append(_text(across, HEIGHT - _BOTTOM + 16, label, "middle"))
    return "".join(parts)


def _x(value: float, end: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * value / end


def _y(value: float, end: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / end


def _legend(n: int, name: str, colour: str) -> str:
    """Four to a row, below the axis."""
    top, left = HEIGHT + 4 + n // _IN_A_ROW * 18, _LEFT + n % _IN_A_ROW * 165
    box = f'<rect x="{left}" y="{top}" width="10" height="10" fill="{colour}"/>'
    return box + _text(left + 16, top + 10, name)


def _heading(title: str) -> str:
    return (
        f'<text x="{WIDTH / 2}" y="18" text-anchor="middle" font-size="14">{escape(title)}</text>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#e5e7eb"/>'


def _drawing(parts: Sequence[str], height: float) -> str:
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{_STYLE}">'
    return "\n".join([opening, *parts, "</svg>", ""])


def _round_up(value: float) -> float:
    """To 1, 2 or 5 times a power of ten: an axis that ends there has readable steps."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.3g}"
