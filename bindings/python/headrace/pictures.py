"""Pictures for notebooks: graphs as SVG, models as tables."""
from html import escape

from ._constants import NONE

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 150, 40, 24, 34
_COLORS = {"input": "#dbeafe", "node": "#f8fafc", "variable": "#fef3c7", "train": "#fee2e2",
           "output": "#dcfce7"}
_MOST_BOXES = 400


class _Box:
    """What the picture shows: an input, a variable, a node or an output."""

    def __init__(self, kind, title, detail, sources):
        self.kind, self.title, self.detail, self.sources = kind, title, detail, sources
        self.layer = self.column = 0.0


def _boxes_of(graph):
    """The boxes, each after those that it comes from. A read is shown as its variable."""
    boxes, of_value = [], {}

    def add(kind, title, detail, sources):
        boxes.append(_Box(kind, title, detail, [one for one in sources if one is not None]))
        return boxes[-1]

    for value in graph.inputs:
        of_value[value.index] = add("input", value.name, graph._type_text(value.index), [])
    names = [one.name for one in graph.variables]
    for node in graph.nodes:
        info = node._info()
        sources = [of_value.get(one) for one in info["inputs"] if one != NONE]
        detail = next((graph._type_text(one) for one in info["outputs"] if one != NONE), "")
        title, kind = info["op"].removeprefix("headrace."), "node"
        if info["op"] == "headrace.state.Read":
            title, kind = names[node.attributes["variable"]], "variable"
        elif info["op"].startswith(("headrace.train.", "headrace.state.")):
            kind = "train"
            detail = names[node.attributes["variable"]]
        box = add(kind, title, detail, sources)
        for one in info["outputs"]:
            of_value[one] = box
    for signature in graph.signatures.values():
        for name, value in signature.outputs.items():
            add("output", name, f"of {signature.name}", [of_value.get(value.index)])
    return boxes


def _place(boxes):
    """Sets the layer of each box below those that it comes from, and its column near them."""
    layers = {}
    for box in boxes:
        box.layer = max((one.layer + 1 for one in box.sources), default=0)
    for box in boxes:  # what needs nothing stands right above what needs it first
        for one in box.sources:
            if not one.sources:
                one.next = min(getattr(one, "next", box.layer), box.layer)
    for box in boxes:
        if not box.sources:
            box.layer = max(getattr(box, "next", 1) - 1, 0)
        layers.setdefault(box.layer, []).append(box)
    for number in sorted(layers):
        row = layers[number]
        for box in row:
            columns = [one.column for one in box.sources]
            box.wish = sum(columns) / len(columns) if columns else len(row)
        row.sort(key=lambda box: box.wish)
        start = max(0.0, sum(box.wish for box in row) / len(row) - (len(row) - 1) / 2)
        for index, box in enumerate(row):
            box.column = start + index


def _corner(box):
    return (10 + box.column * (_WIDTH + _GAP_X), 10 + box.layer * (_HEIGHT + _GAP_Y))


def _short(text, length=22):
    return escape(text if len(text) <= length else text[:length - 1] + "…")


def _draw(box):
    x, y = _corner(box)
    title = escape(f"{box.title} {box.detail}")
    return (f'<g><title>{title}</title><rect x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" '
            f'height="{_HEIGHT}" rx="6" fill="{_COLORS[box.kind]}" stroke="#64748b"/>'
            f'<text x="{x + _WIDTH / 2:.0f}" y="{y + 17:.0f}" font-weight="bold">'
            f'{_short(box.title)}</text><text x="{x + _WIDTH / 2:.0f}" y="{y + 32:.0f}" '
            f'fill="#475569">{_short(box.detail)}</text></g>')


def _line(source, box):
    x0, y0 = _corner(source)
    x1, y1 = _corner(box)
    x0, y0, x1 = x0 + _WIDTH / 2, y0 + _HEIGHT, x1 + _WIDTH / 2
    bend = (y1 - y0) / 2
    return (f'<path d="M{x0:.0f} {y0:.0f} C{x0:.0f} {y0 + bend:.0f} {x1:.0f} {y1 - bend:.0f} '
            f'{x1:.0f} {y1:.0f}" fill="none" stroke="#94a3b8"/>')


def svg_of(graph):
    """Return a picture of a graph: inputs above, outputs below.

    Of more than 400 boxes the first are drawn; `Model.view("dot")` has them all.
    """
    every = _boxes_of(graph)
    boxes = every[:_MOST_BOXES]
    _place(boxes)
    width = max((_corner(box)[0] for box in boxes), default=0) + _WIDTH + 10
    height = max((_corner(box)[1] for box in boxes), default=0) + _HEIGHT + 10
    note = ""
    if len(every) > len(boxes):
        note = (f'<text x="10" y="{height + 10:.0f}" text-anchor="start">… and '
                f'{len(every) - len(boxes)} more</text>')
        height += 20
    lines = "".join(_line(one, box) for box in boxes for one in box.sources)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="11" '
            f'text-anchor="middle">{lines}{"".join(map(_draw, boxes))}{note}</svg>')


def _table(title, head, rows):
    cells = "".join(f"<th style='text-align:left'>{escape(one)}</th>" for one in head)
    lines = "".join("<tr>" + "".join(f"<td style='text-align:left'>{escape(str(one))}</td>"
                                     for one in row) + "</tr>" for row in rows)
    return f"<p><b>{escape(title)}</b></p><table><tr>{cells}</tr>{lines}</table>"


def _types(values):
    return ", ".join(f"{one['name']}: {one['type']}" for one in values)


def table_of(model, session=None):
    """Return the signatures and variables of a model as tables of HTML."""
    described = model.describe()
    signatures = [(one["name"], _types(one["inputs"]), _types(one["outputs"]))
                  for one in described["signatures"]]
    variables = [(one["name"], f"{one['dtype']}{one['dims']}", "yes" if one.get("trainable") else "no")
                 for one in described["variables"]]
    total = f"{len(variables)} variables, {described['nodes']} nodes"
    if session is not None:
        total += f", step {session.step}"
    return (_table(f"Headrace model: {total}", ("signature", "inputs", "outputs"), signatures)
            + _table("Variables", ("name", "type", "trainable"), variables))
