"""The plots: bars for rows, lines for what grows, and distributions. Without matplotlib there are none."""

import os

from .results import OURS
from .stats import summary

# One colour for each server in every plot; ours stands out, and all differ in grey, too.
COLOURS = {"wrensshd": "#0b6e4f", "wrensshd-dynamic": "#7fb8a4", "tinysshd": "#e0a030", "dropbear": "#5b8fd9",
           "openssh": "#8d6fb3", "openssh-aes128": "#b9a6d3", "openssh-aes256": "#d9cfe8",
           "wrensshd-external": "#3f9a7c", "openssh-internal": "#6a4c96", "limit": "#333333"}
SPARE = "#999999"

# File, title, unit on the axis, and (row, label) of each group of bars. A row that was not measured leaves no gap.
BARS = (
    ("login", "Login: ssh host exit 0", "ms", (
        ("login.plain.default", "plain loopback"), ("login.quickack.default", "no delayed ACKs"),
        ("login.quickack.curve25519", "the same,\ncurve25519"), ("login.rtt20", "20 ms away"))),
    ("cpu-login", "Server CPU of a login", "ms", (
        ("cpu.login.default", "default kex"), ("cpu.login.sntrup761", "sntrup761"),
        ("cpu.login.curve25519", "curve25519"))),
    ("cpu-bulk", "Server CPU of 1 GiB", "s", (("cpu.gib.down", "download"), ("cpu.gib.up", "upload"))),
    ("throughput", "Throughput", "MiB/s", (
        ("throughput.stock.down", "download,\nstock client"), ("throughput.stock.up", "upload,\nstock client"),
        ("throughput.lean.down", "download,\nlean client"), ("throughput.lean.up", "upload,\nlean client"))),
    ("limit", "Server CPU of 1 GiB over the limit", "times", (
        ("cpu.limit.cycles.down", "download"), ("cpu.limit.cycles.up", "upload"))),
    ("links", "Narrow links", "% of what the link carries", (
        ("throughput.link100.down", "100 Mbit/s,\ndownload"), ("throughput.link100.up", "100 Mbit/s,\nupload"),
        ("throughput.link1000.down", "1 Gbit/s,\ndownload"), ("throughput.link1000.up", "1 Gbit/s,\nupload"))),
    ("share", "Server's share of a login", "ms", (
        ("login.wait.curve25519", "curve25519"), ("login.wait.sntrup761", "sntrup761"))),
    ("memory", "Memory per further idle session", "KiB", (
        ("memory.idle.pss", "PSS"), ("memory.idle.dirty", "private dirty"), ("memory.idle.tables", "page tables"))),
    ("peaks", "Peak memory, private dirty", "KiB", (
        ("memory.peak.down.dirty", "download"), ("memory.peak.up.dirty", "upload"),
        ("memory.peak.rekey.dirty", "with rekeys"))),
    ("keystrokes", "Keystroke echo", "µs", (
        ("interactive.alone.p50", "p50"), ("interactive.alone.p99", "p99"),
        ("interactive.busy.p50", "beside a\ndownload, p50"), ("interactive.busy.p99", "beside a\ndownload, p99"))),
    ("sftp", "SFTP: server CPU of a big file", "ms/MB", (("sftp.put.cpu", "put"), ("sftp.get.cpu", "get"))),
    ("sftp-list", "SFTP: server CPU of ls -l", "ms", (
        ("sftp.list.long.1k.cpu", "1k files"), ("sftp.list.long.10k.cpu", "10k files"))),
    ("sftp-memory", "SFTP: memory of an idle session's sftp process", "KiB", (
        ("sftp.idle.own.pss", "PSS"), ("sftp.idle.own.dirty", "private dirty"))),
    ("parallel", "Logins in parallel", "1/s", tuple(
        (f"scale.parallel.{count}", f"{count} at a time") for count in (1, 4, 16, 64))),
)


def _save(figure, folder, name):
    figure.tight_layout()
    # Without a date the same figures make the same file.
    figure.savefig(os.path.join(folder, name + ".svg"), metadata={"Date": None})
    figure.savefig(os.path.join(folder, name + ".png"), dpi=110)


def _style(axes, title, y):
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_ylabel(y)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _bars(pyplot, results, title, unit, groups):
    """Grouped bars: medians, with whiskers from the least to the most."""
    shown = [(results.rows[key], label) for key, label in groups if key in results.rows]
    names = [name for name in results.titles if any(name in row.samples for row, _ in shown)]
    if not shown or not names:
        return None
    figure, axes = pyplot.subplots(figsize=(7.2, 3.2))
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        told = [(at, summary(row.samples[name])) for at, (row, _) in enumerate(shown) if name in row.samples]
        heights = [one["median"] for _, one in told]
        whiskers = [[one["median"] - one["min"] for _, one in told], [one["max"] - one["median"] for _, one in told]]
        axes.bar([at + (place - (len(names) - 1) / 2) * width for at, _ in told], heights, width * 0.92,
                 yerr=whiskers, capsize=2, color=COLOURS.get(name, SPARE), label=results.titles[name],
                 error_kw={"linewidth": 0.8, "ecolor": "#333333"})
    axes.set_xticks(range(len(shown)), [label for _, label in shown])
    _style(axes, title, unit)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)
    return figure


def _lines(pyplot, results, curve, logarithmic):
    figure, axes = pyplot.subplots(figsize=(7.2, 3.2))
    for name, points in curve["lines"].items():
        axes.plot([x for x, _ in points], [y for _, y in points], color=COLOURS.get(name, SPARE),
                  marker="" if logarithmic else "o", markersize=3, linewidth=2 if name == OURS else 1.2,
                  label=results.titles.get(name, name))
    if logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    _style(axes, curve["title"], curve["y"])
    axes.set_xlabel(curve["x"])
    axes.legend(frameon=False, fontsize=8)
    return figure


def draw(results, folder):
    """False if there is no matplotlib."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return False
    matplotlib.rcParams.update({"font.size": 9, "svg.hashsalt": "wrensshd", "svg.fonttype": "none"})
    for name, title, unit, groups in BARS:
        figure = _bars(pyplot, results, title, unit, groups)
        if figure:
            _save(figure, folder, name)
            pyplot.close(figure)
    for key, curve in results.curves.items():
        figure = _lines(pyplot, results, curve, key.startswith("interactive"))
        _save(figure, folder, key.replace(".", "-") + "-curve")
        pyplot.close(figure)
    return True
