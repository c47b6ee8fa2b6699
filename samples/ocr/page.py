#!/usr/bin/env python3
"""Draws a text as a page: its first line large, the others broken to the width of the page.

usage: page.py TEXT PAGE.png
"""
import sys

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, MARGIN = 900, 850, 60
PAPER, INK = (250, 248, 240), (25, 25, 45)


def broken(draw, font, text):
    """The lines of a paragraph."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and draw.textlength(longer, font) > WIDTH - 2 * MARGIN:
            yield line
            longer = word
        line = longer
    yield line


def render(text):
    """The page, and the lines that are on it."""
    page = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw, lines, y = ImageDraw.Draw(page), [], MARGIN
    for i, paragraph in enumerate(text.strip().split("\n")):
        size = 40 if i == 0 else 22
        font = ImageFont.load_default(size)
        for line in broken(draw, font, paragraph):
            if y + size > HEIGHT - MARGIN:
                return page, lines
            draw.text((MARGIN, y), line, INK, font)
            lines += [line] if line else []
            y += size * 3 // 2 if line else size // 2
        y += size // 2
    return page, lines


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        render(file.read())[0].save(sys.argv[2])
