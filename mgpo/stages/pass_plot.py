"""Shares of several models as an SVG picture, one curve per domain."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 720, 360, 50
_LEGEND_WIDTH = 160
_MAX_LABELS = 10
_COLOURS = ("#06c", "#c50", "#284", "#a0a", "#088", "#b08000", "#666", "#c22")


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """One domain."""

    name: str
    points: tuple[tuple[float, float, float], ...]
    """Mean, low and high of each model, shares from 0 to 1."""
    best: int | None
    """The point that is ringed."""


def draw_curves(title: str, labels: Sequence[str], curves: Sequence[Curve]) -> str:
    """Return the picture; labels name the models from left to right."""
    parts = [_axes(title, labels)]
    for index, curve in enumerate(curves):
        parts.append(_curve(curve, _COLOURS[index % len(_COLOURS)], index, len(curves)))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


def _place(index: float, count: int, share: float) -> tuple[float, float]:
    """Return the coordinates of a share of one of `count` models."""
    width = WIDTH - 2 * MARGIN - _LEGEND_WIDTH
    x = MARGIN + (index + 0.5) / count * width
    return x, HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)


def _axes(title: str, labels: Sequence[str]) -> str:
    right = WIDTH - MARGIN - _LEGEND_WIDTH
    lines = [f'<text x="{MARGIN}" y="20">{escape(title)}</text>']
    for percent in range(0, 101, 20):
        _, y = _place(0, 1, percent / 100)
        lines.append(f'<path d="M{MARGIN} {y:.1f}H{right}" stroke="#ddd"/>')
        lines.append(f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{percent}</text>')
    step = -(-len(labels) // _MAX_LABELS)
    for index in range(0, len(labels), step):
        x, y = _place(index, len(labels), 0)
        label = escape(labels[index])
        lines.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{label}</text>')
    return "\n".join(lines)


def _curve(curve: Curve, colour: str, index: int, num_curves: int) -> str:
    """Draw one curve, a little beside the others, and its line of the legend."""
    count = len(curve.points)
    beside = 0.4 * ((index + 0.5) / num_curves - 0.5)
    places = [_place(n + beside, count, mean) for n, (mean, _, _) in enumerate(curve.points)]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    lines = [f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
    for n, ((x, y), (_, low, high)) in enumerate(zip(places, curve.points, strict=True)):
        ends = [_place(n, count, share)[1] for share in (low, high)]
        lines.append(f'<path d="M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}" stroke="{colour}"/>')
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        if n == curve.best:
            ring = f'r="7" fill="none" stroke="{colour}" stroke-width="1.5"'
            lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" {ring}/>')
    legend_x, legend_y = WIDTH - _LEGEND_WIDTH - MARGIN / 2, MARGIN + 18 * index
    lines.append(f'<text x="{legend_x}" y="{legend_y}" fill="{colour}">{escape(curve.name)}</text>')
    return "\n".join(lines)
