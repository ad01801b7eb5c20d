"""What the pictures of the documents are made of: SVG that needs nothing else, in light and dark; and lines of what grows."""

import math
from xml.sax.saxutils import escape

from .results import OURS

# For light and for dark paper; ours stands out, and all differ in grey, too.
COLOURS = {"wrensshd": ("#0b6e4f", "#3fc296"), "wrensshd-dynamic": ("#7fb8a4", "#2c7d62"), "tinysshd": ("#e0a030", "#e0a030"),
           "dropbear": ("#5b8fd9", "#7aaaf0"), "openssh": ("#8d6fb3", "#b493dc"), "openssh-aes128": ("#b9a6d3", "#8f7bab"),
           "openssh-aes256": ("#d9cfe8", "#6a5a80"), "wrensshd-external": ("#3f9a7c", "#58d6ae"),
           "openssh-internal": ("#6a4c96", "#d0b8ee"), "limit": ("#333333", "#cccccc")}
SPARE = "#999999"
INK = {"text": ("fill", "#1f2328", "#e6edf3"), ".paper": ("fill", "#ffffff", "#0d1117"),
       ".grid": ("stroke", "#dddddd", "#30363d"), ".axis": ("stroke", "#59636e", "#9198a1"), ".quiet": ("fill", "#59636e", "#9198a1")}

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 270, 56, 160, 34, 46
NAME_HEIGHT, MOST_TICKS = 15, 7


def text(x, y, words, more=""):
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(words)}</text>'


def svg(width, height, title, names, parts):
    """The whole file. Elements with a server's name as their class have its colour as `currentColor`."""
    def rules(dark):
        return " ".join([*(f"{what} {{ {rule[0]}: {rule[1 + dark]} }}" for what, rule in INK.items()),
                         *(f".{name} {{ color: {COLOURS.get(name, (SPARE, SPARE))[dark]} }}" for name in names)])
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
        ' aria-labelledby="title" font-family="sans-serif" font-size="12">', f'<title id="title">{escape(title)}</title>',
        f"<style>\n{rules(0)}\n@media (prefers-color-scheme: dark) {{ {rules(1)} }}\n</style>",
        '<rect class="paper" width="100%" height="100%"/>', *parts, "</svg>"]) + "\n"


ROUND_NUMBERS = [float(f"{digit}e{power}") for power in range(-6, 13) for digit in (1, 2, 5)]


def steps(most):
    """Few numbers with a round step, from 0 to the first that is not below `most`."""
    step = next(step for step in ROUND_NUMBERS if most <= step * (MOST_TICKS - 1))
    return [round(step * index, 9) for index in range(max(math.ceil(round(most / step, 9)), 1) + 1)]


def decades(least, most):
    """Round numbers, for a logarithmic axis: the first is not above `least`, the last not below `most`."""
    first = max(number for number in ROUND_NUMBERS if number <= least)
    last = min(number for number in ROUND_NUMBERS if number >= most)
    return [number for number in ROUND_NUMBERS if first <= number <= last]


def apart(wanted):
    """Heights for names beside the ends of their lines: in the same order, and none on another."""
    placed = {}
    for name, y in sorted(wanted.items(), key=lambda item: item[1]):
        placed[name] = max([y, *(other + NAME_HEIGHT for other in placed.values())])
    over = max(placed.values()) - (HEIGHT - BOTTOM)
    return {name: y - max(over, 0) for name, y in placed.items()}


def file_of(key):
    """The name of a curve's picture."""
    return key.replace(".", "-") + "-curve.svg"


def curve(drawn, titles, logarithmic):
    """A line for each server, with its name at its end. `drawn`: one of Results.curves."""
    lines = {name: [(float(x), float(y)) for x, y in points] for name, points in drawn["lines"].items()}
    values = [y for points in lines.values() for _, y in points]
    places = sorted({x for points in lines.values() for x, _ in points})
    y_ticks = decades(min(values), max(values)) if logarithmic else steps(max(values))
    x_ticks = places if len(places) <= MOST_TICKS else steps(max(places))

    def across(x):
        return LEFT + (WIDTH - LEFT - RIGHT) * x / max(x_ticks)

    def down(y):
        share = math.log(y / y_ticks[0], y_ticks[-1] / y_ticks[0]) if logarithmic else y / y_ticks[-1]
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    parts = [text(LEFT, 18, f"{drawn['title']}, {drawn['y']}", ' font-weight="bold"')]
    for y in y_ticks:
        parts += [f'<path class="grid" d="M{LEFT} {down(y):.1f}H{WIDTH - RIGHT}"/>',
                  text(LEFT - 6, down(y) + 4, f"{y:g}", ' text-anchor="end"')]
    parts.append(f'<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    for x in x_ticks:
        parts += [f'<path class="axis" d="M{across(x):.1f} {HEIGHT - BOTTOM}v4"/>',
                  text(round(across(x), 1), HEIGHT - BOTTOM + 18, f"{x:g}", ' text-anchor="middle"')]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, drawn["x"], ' text-anchor="middle"'))
    names = apart({name: down(points[-1][1]) for name, points in lines.items()})
    for name, points in lines.items():
        path = "L".join(f"{across(x):.1f} {down(y):.1f}" for x, y in points)
        width = 2.5 if name == OURS else 1.5
        parts += [f'<path class="{name}" d="M{path}" fill="none" stroke="currentColor" stroke-width="{width}"/>',
                  *(f'<circle class="{name}" cx="{across(x):.1f}" cy="{down(y):.1f}" r="3" fill="currentColor"/>'
                    for x, y in points if len(points) <= MOST_TICKS),
                  f'<path class="{name}" d="M{WIDTH - RIGHT + 8} {names[name]:.1f}h12" stroke="currentColor"'
                  f' stroke-width="{width}"/>',
                  text(WIDTH - RIGHT + 25, round(names[name] + 4, 1), titles.get(name, name))]
    return svg(WIDTH, HEIGHT, drawn["title"], lines, parts)
