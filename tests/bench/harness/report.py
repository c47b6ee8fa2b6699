"""The table for people."""


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def percent(part):
    return f"{100 * part:.1f} %"


def verdict(one):
    """The last columns where two builds are compared."""
    if "worse" not in one:
        return ()
    return percent(one["spread"]), percent(one["allowed"]), "WORSE" if one["worse"] else "as good"


def print_table(results):
    compared = any("worse" in one for one in results)
    rows = [("benchmark", "case", "unit", "ours", "peer", "", "ratio", "floor", "repeats",
             *(("spread", "allowed", "") if compared else ()))]
    for one in results:
        rows.append((one["benchmark"], one["case"], one["unit"], number(one["ours"]),
                     number(one["peer"]), one["peer_name"] or "", number(one["ratio"]),
                     number(one["floor"]), str(one["repeats"]), *verdict(one)))
    if len(rows) > 1:
        print_rows([row + ("",) * (len(rows[0]) - len(row)) for row in rows])


def print_rows(rows):
    """In columns; all rows have as many cells as the first."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
