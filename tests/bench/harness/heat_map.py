"""Draws the ratios of a sweep as an SVG: a panel for each mode, rows by columns."""
import math

from .sweep_report import by_column, cliffs

CELL, HEIGHT, TOP, GAP = 52, 26, 58, 24
LETTER, TITLE = 7, 620  # widths
FULL = math.log(3)  # the ratio whose colour is full; so is 1 / 3
RED, BLUE = (178, 24, 43), (33, 102, 172)


def colour(ratio):
    """White at 1, blue above, red below."""
    strength = max(-1, min(1, math.log(ratio) / FULL))
    end = BLUE if strength > 0 else RED
    return "#%02x%02x%02x" % tuple(round(255 + (one - 255) * abs(strength)) for one in end)


def text(x, y, content, more=""):
    return (f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="12" {more}>{content}</text>')


def box(x, y, one, is_cliff):
    if one["ratio"] is None:
        return [text(x + CELL / 2, y + 17, "failed", 'text-anchor="middle" fill="#888"')]
    dark = abs(math.log(one["ratio"])) > 0.7 * FULL
    weight = ' font-weight="bold"' if one["short"] else ""
    shape = (f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="{HEIGHT - 2}" '
             f'fill="{colour(one["ratio"])}" stroke="{"black" if one["short"] else "#ccc"}" '
             f'stroke-width="{2 if one["short"] else 0.5}"/>')
    content = f"{one['ratio']:.2f}" + ("^" if is_cliff else "")
    return [shape, text(x + CELL / 2 - 1, y + 16, content,
                        f'text-anchor="middle" fill="{"white" if dark else "black"}"{weight}')]


def panel(sweep, cells, mode, left):
    shapes = [text(left, TOP - 24, mode, 'font-weight="bold"')]
    steep = set(cliffs(sweep, cells))
    for number, column in enumerate(sweep.columns):
        shapes.append(text(left + number * CELL + CELL / 2 - 1, TOP - 6, column,
                           'text-anchor="middle"'))
    for line, row in enumerate(sweep.rows):
        for column, one in by_column(sweep, cells, row, mode).items():
            x = left + sweep.columns.index(column) * CELL
            shapes += box(x, TOP + line * HEIGHT, one, one["case"] in steep)
    return shapes


def svg(sweep, cells):
    wide = len(sweep.columns) * CELL
    left = 16 + LETTER * max(map(len, sweep.rows))
    width = max(TITLE, left + len(sweep.modes) * (wide + GAP))
    height = TOP + len(sweep.rows) * HEIGHT + 12
    title = ("Time of the best peer / ours: blue is faster than it, red slower. Framed: short. "
             "^: a cliff.")
    shapes = ['<rect width="100%" height="100%" fill="white"/>', text(8, 18, title)]
    for line, row in enumerate(sweep.rows):
        shapes.append(text(left - 8, TOP + line * HEIGHT + 16, row, 'text-anchor="end"'))
    for number, mode in enumerate(sweep.modes):
        shapes += panel(sweep, cells, mode, left + number * (wide + GAP))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">\n'
            + "\n".join(shapes) + "\n</svg>\n")
