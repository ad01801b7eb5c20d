"""The rows that a README shows: a table in Markdown, written beside the other reports."""

from .report import number
from .results import BAR, EXTERNAL, INTERNAL, LAUNCHED, LIMIT, OURS
from .stats import ratio, summary

ROWS = (
    ("login.plain.default", "login, `ssh host exit 0` (ms)"),
    ("login.quickack.default", "the same where nobody delays ACKs (ms)"),
    ("login.wait.curve25519", "the server's share of a login, curve25519 (ms)"),
    ("login.master", "a further session on an open connection (ms)"),
    ("login.rtt100", "the same, 100 ms away (ms)"),
    ("login.trips", "round trips to the first output"),
    ("cpu.login.default", "server CPU of a login (ms)"),
    ("throughput.stock.down", "download, stock client (MiB/s)"),
    ("throughput.stock.up", "upload, stock client (MiB/s)"),
    ("throughput.lean.down", "download, lean client (MiB/s)"),
    ("throughput.lean.up", "upload, lean client (MiB/s)"),
    ("cpu.gib.down", "server CPU per GiB down (s)"),
    ("cpu.gib.up", "server CPU per GiB up (s)"),
    ("interactive.alone.p50", "keystroke echo, p50 (µs)"),
    ("interactive.alone.p99", "keystroke echo, p99 (µs)"),
    ("interactive.busy.p50", "the same beside a download, p50 (µs)"),
    ("interactive.busy.p99", "the same beside a download, p99 (µs)"),
    ("sftp.get.cpu", "server CPU of `sftp` get (ms/MB)"),
    ("sftp.put.cpu", "server CPU of `sftp` put (ms/MB)"),
    ("sftp.small.get.rate", "small files by `sftp` get (files/s)"),
    ("sftp.small.put.rate", "small files by `sftp` put (files/s)"),
    ("sftp.list.long.10k.cpu", "server CPU of `ls -l`, 10,000 files (ms)"),
    ("sftp.idle.own.dirty", "idle sftp process, private dirty (KiB)"),
    ("memory.idle.pss", "memory per further idle session, PSS (KiB)"),
    ("memory.idle.dirty", "of it private dirty (KiB)"),
    ("memory.idle.tables", "its page tables (KiB)"),
    ("memory.peak.down.dirty", "peak in a download, private dirty (KiB)"),
    ("scale.parallel.16", "logins a second, 16 clients at a time"),
    ("scale.growth", "CPU of a login beside many sessions over beside one"),
    ("size.program", "program, stripped (KiB)"),
    ("size.libraries", "with its libraries but the C library (KiB)"),
)


def _cell(row, name):
    if name not in row.samples:
        return ""
    return number(summary(row.samples[name])["median"]) + (" (client-bound)" if row.client_bound(name) else "")


def _standing(row):
    best = row.best_peer()
    if OURS not in row.samples or not best:
        return ""
    compared = ratio(row.samples[OURS], row.samples[best])
    times = "no ratio to 0" if compared["ratio"] == float("inf") else f"{compared['ratio']:.2f}"
    return f"{times}, {row.standing(compared)}"


def lines(results):
    shown = [(results.rows[key], title) for key, title in ROWS if key in results.rows]
    names = [name for name in results.titles if name not in (BAR[1], EXTERNAL, INTERNAL, LIMIT, *LAUNCHED)
             and any(name in row.samples for row, _ in shown)]
    out = ["| | " + " | ".join(results.titles[name] for name in names) + " | ours / best peer's |",
           "|---" * (len(names) + 2) + "|"]
    for row, title in shown:
        out.append(f"| {title} | " + " | ".join(_cell(row, name) for name in names) + f" | {_standing(row)} |")
    return out
