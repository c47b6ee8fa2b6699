"""The tables of a sweep for people."""
import statistics

from . import verdict
from .report import number, print_rows

QUIET_PERCENT = 5


def by_column(sweep, cells, row, mode):
    """{column: cell} of those that were measured."""
    found = {one["case"]: one for one in cells}
    return {column: found[case] for column in sweep.columns
            if (case := f"{row}/{mode}/{column}") in found}


def cliffs(sweep, cells):
    """The cases with a cliff, see verdict.py."""
    found = []
    for row in sweep.rows:
        for mode in sweep.modes:
            measured = by_column(sweep, cells, row, mode)
            ours, theirs = ({column: one[side] for column, one in measured.items()}
                            for side in ("ours", "peer"))
            found += [f"{row}/{mode}/{column}" for column in verdict.cliffs(ours, theirs)]
    return found


def word(one):
    if one["errors"]:
        return "FAILED" if verdict.OURS in one["errors"] else "a peer failed"
    return "SHORT" if one["short"] else "behind once" if one["behind"] else ""


def middle(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def part_of(cells, side):
    """Our time / that of `side` of ours, in the middle over the cells."""
    return middle(middle(one["sides"][verdict.OURS]) / middle(one["sides"][side]) for one in cells
                  if one["sides"].get(side) and one["sides"].get(verdict.OURS))


def peak_of(one, side):
    """Our peak memory / that of the side."""
    ours, theirs = one["peaks"].get(verdict.OURS), one["peaks"].get(side)
    return ours / theirs if ours and theirs else None


def sides_of(cells):
    return sorted({side for one in cells for side in one["sides"]} - {verdict.OURS})


def roof_part(one):
    return one["floor"] / one["ours"] if one["floor"] and one["ours"] else None


def error_of(side):
    return lambda one: one["accuracy"].get(side)


# Columns that not every sweep has.
EXTRA = [("of peak", lambda one: peak_of(one, one["peer_name"])), ("of roof", roof_part),
         ("our error", error_of(verdict.OURS)), ("torch's", error_of("torch"))]


def print_cells(cells):
    sides = sides_of(cells)
    extra = [(title, value) for title, value in EXTRA if any(value(one) for one in cells)]
    rows = [("case", "ours", *sides, "ratio", "90 %", *(title for title, _ in extra), "")]
    for one in cells:
        bounds = "" if one["low"] is None else f"{one['low']:.2f}-{one['high']:.2f}"
        rows.append((one["case"], number(one["ours"]),
                     *(number(middle(one["sides"].get(side, []))) for side in sides),
                     number(one["ratio"]), bounds, *(number(value(one)) for _, value in extra),
                     word(one)))
    print(f"{cells[0]['unit']}; ratio to the best peer")
    print_rows(rows)


def print_grid(sweep, cells, mode):
    """The ratios: ! is short, ? behind once."""
    rows = [(mode, *map(str, sweep.columns))]
    for row in sweep.rows:
        measured = by_column(sweep, cells, row, mode)
        rows.append((row, *(mark(measured[column]) if column in measured else ""
                            for column in sweep.columns)))
    print()
    print_rows([row for row in rows if any(row[1:])])


def mark(one):
    if one["ratio"] is None:
        return "x"
    return f"{one['ratio']:.2f}" + ("!" if one["short"] else "?" if one["behind"] else "")


def print_mode(cells, mode):
    ratios = [one["ratio"] for one in cells if one["ratio"] is not None]
    text = f"{mode}: {len(cells)} cells, ratio {number(middle(ratios))} in the middle"
    text += f", {sum(one['short'] for one in cells)} short"
    for side in sides_of(cells):
        peak = middle(peak_of(one, side) for one in cells)
        text += f"; {side}: our time / its {number(part_of(cells, side))}, our peak / its "
        text += number(peak)
    print(text)


def peaks(sweep, cells, mode):
    """Cells of a mode that take more of a peer's peak memory than they may, and a sentence."""
    side, most = sweep.most_of_peak[mode]
    parts = {one["case"]: part for one in cells if (part := peak_of(one, side)) is not None}
    if not parts:
        return {}, f"{mode}: no peak memory of {side}"
    beyond = {case: part for case, part in parts.items() if part > most}
    text = f"{mode}: peak memory {number(most)} times that of {side} at most in "
    text += f"{len(parts) - len(beyond)} of {len(parts)} cells, {number(max(parts.values()))} times"
    return beyond, text + f" in {max(parts, key=parts.get)}"


def print_peaks(sweep, cells, mode):
    beyond, text = peaks(sweep, cells, mode)
    print(text)
    for case, part in beyond.items():
        print(f"  more: {case} {number(part)}")


def print_all(sweep, cells):
    print_cells(cells)
    for mode in sweep.modes:
        print_grid(sweep, cells, mode)
    print()
    for mode in sweep.modes:
        of_mode = [one for one in cells if one["case"].split("/")[1] == mode]
        if of_mode:
            print_mode(of_mode, mode)
            if mode in sweep.most_of_peak:
                print_peaks(sweep, of_mode, mode)
    others = 100 * middle(one["others"] for one in cells)
    print(f"other programs used {number(others)} % of the machine in the middle"
          + ("; measure on a quiet one" if others > QUIET_PERCENT else ""))
    print("cliffs:", ", ".join(cliffs(sweep, cells)) or "none")
    for one in cells:
        for sentence in one["errors"].values():
            print(f"{one['case']}: {sentence}")
