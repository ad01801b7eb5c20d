"""The plots: bars for rows, lines for what grows, and distributions. Without matplotlib there are no bars."""

import os

from . import charts
from .stats import summary

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
                 yerr=whiskers, capsize=2, color=charts.COLOURS.get(name, [charts.SPARE])[0], label=results.titles[name],
                 error_kw={"linewidth": 0.8, "ecolor": "#333333"})
    axes.set_xticks(range(len(shown)), [label for _, label in shown])
    _style(axes, title, unit)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def draw(results, folder):
    """False if there is no matplotlib."""
    for key, curve in results.curves.items():
        with open(os.path.join(folder, charts.file_of(key)), "w", encoding="utf-8") as file:
            file.write(charts.curve(curve, results.titles, key.startswith("interactive")))
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
    return True
