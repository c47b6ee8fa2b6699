"""The table for people."""


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def print_table(results):
    rows = [("benchmark", "case", "unit", "ours", "peer", "", "ratio", "floor", "repeats")]
    for one in results:
        rows.append((one["benchmark"], one["case"], one["unit"], number(one["ours"]),
                     number(one["peer"]), one["peer_name"] or "", number(one["ratio"]),
                     number(one["floor"]), str(one["repeats"])))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
