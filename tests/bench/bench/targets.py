"""The targets of speed: ratios of this run, and a few amounts, each with whether it is met."""

from .method_tables import markdown
from .report import number
from .results import BAR, DYNAMIC, OURS
from .sftp_tables import meets, verdict
from .stats import ratio, summary

BEST = "the best peer"
TITLE = "Targets of speed"

# What, its row, whose figure, over whose (None: the amount itself), at most or at least, how much. Those that two whole
# runs have met are not here any more.
TARGETS = (
    ("keystroke echo beside a download, p50", "interactive.busy.p50", OURS, BEST, "<=", 1.0),
    ("keystroke echo alone, p50", "interactive.alone.p50", OURS, BEST, "<=", 1.0),
    ("keystroke echo alone, p99", "interactive.alone.p99", OURS, BEST, "<=", 1.0),
    ("keystroke echo alone, lean client, p50", "interactive.lean.alone.p50", OURS, BEST, "<=", 1.0),
    ("keystroke echo alone, lean client, p99", "interactive.lean.alone.p99", OURS, BEST, "<=", 1.0),
    ("login where nobody delays ACKs, stock client", "login.quickack.default", OURS, BEST, "<=", 0.8),
    ("the server's share of a login, curve25519", "login.wait.curve25519", OURS, BEST, "<=", 0.28),
    ("CPU of a login", "cpu.login.default", OURS, "tinysshd", "<=", 0.28),
    ("CPU of a login", "cpu.login.default", DYNAMIC, "tinysshd", "<=", 0.3),
    ("system calls of a login", "login.calls", OURS, None, "<=", 330),
    ("100 commands on an open connection", "login.hundred", OURS, "openssh", "<=", 0.75),
    ("CPU of a download", "cpu.gib.down", OURS, BAR[0], "<=", 0.8),
    ("packets of 1 KiB, seal", "crypto.seal.1024", OURS, "openssl", "<=", 1.0),
    ("packets of 1 KiB, open", "crypto.open.1024", OURS, "openssl", "<=", 1.0),
    ("packets of 1 KiB, seal and open in place", "crypto.both.1024", OURS, "openssl", "<=", 1.0),
    ("idle session, page tables, KiB", "memory.idle.tables", OURS, None, "<=", 56),
    ("idle session, slab and kernel stacks, both ends, KiB", "memory.idle.kernel", OURS, None, "<=", 150),
    ("upload from 100 ms away, stock client", "throughput.far.stock.up", OURS, "openssh", ">=", 2.0),
    ("upload over 1 Gbit/s, share of the link", "throughput.link1000.up", OURS, "openssh", ">=", 1.0),
    ("logins a second, 16 at a time", "scale.parallel.16", OURS, BEST, ">=", 2.0),
    ("small files by sftp put, a second", "sftp.small.put.rate", OURS, "openssh", ">=", 1.15),
    ("CPU of ls 'name*', 100,000 files", "sftp.list.glob.100k.cpu", OURS, "openssh", "<=", 0.5),
    ("program for armv7, bytes", "size.armv7", OURS, None, "<=", 190140),
    ("sftp get from 100 ms away", "links.far.get", OURS, "openssh", ">=", 1.0),
    ("sftp get over 10 Mbit/s", "links.narrow.get", OURS, "openssh", ">=", 1.0),
    ("sftp put over 10 Mbit/s", "links.narrow.put", OURS, "openssh", ">=", 1.0),
    ("keystroke echo beside an sftp put over 10 Mbit/s", "links.typed.put", OURS, "openssh", "<=", 0.5),
    ("CPU of a login beside 1,000 sessions over beside one", "crowd.login.growth", OURS, None, "<=", 1.1),
    ("wrensshd-listen, a connection beside 1,000 over beside 10", "listen.growth", OURS, None, "<=", 1.2),
    ("read from the disk in a login after a boot", "cold.bytes", OURS, "dropbear", "<=", 0.5),
)


def _other(row, versus):
    """Whose samples ours are compared with; None if the run does not have them."""
    name = row.best_peer() if versus == BEST else versus
    return name if name in row.samples else None


def _value(row, whose, versus):
    """None if the run does not show it."""
    if whose not in row.samples:
        return None
    if versus is None:
        return summary(row.samples[whose])["median"]
    other = _other(row, versus)
    return ratio(row.samples[whose], row.samples[other])["ratio"] if other else None


def _title(row, what, whose, versus, titles):
    who = "" if whose == OURS else f" of {titles.get(whose, whose)}"
    if versus is None:
        return what + who
    other = _other(row, versus)
    best = ", the best peer" if versus == BEST else ""
    return f"{what}{who} / {titles.get(other, other)}{best}"


def _noise(row, whose, versus):
    """Words for a ratio that another run may turn round."""
    if versus is None:
        return ""
    standing = row.standing(ratio(row.samples[whose], row.samples[_other(row, versus)]))
    return next((f", {word}" for word in ("noisy", "too few rounds", "few rounds") if standing.startswith(word)), "")


def figures(results):
    """(title, value or None, sign, limit, words of noise) of each target."""
    for what, key, whose, versus, sign, limit in TARGETS:
        row = results.rows.get(key)
        value = _value(row, whose, versus) if row else None
        if value is None:
            yield what, None, sign, limit, ""
        else:
            yield _title(row, what, whose, versus, results.titles), value, sign, limit, _noise(row, whose, versus)


def lines(results):
    return [f"{title:72}" + (verdict(value, sign, limit) + noise if value is not None
                             else f"{'':>8}  target {sign} {limit}: not measured")
            for title, value, sign, limit, noise in figures(results)]


def table(results):
    """The same in Markdown, for the documents."""
    words = {"<=": "", ">=": "at least "}
    return markdown(["", "measured", "target", ""], [
        (title, "not measured", f"{words[sign]}{limit}", "") if value is None else
        (title, number(value), f"{words[sign]}{limit}", ("met" if meets(value, sign, limit) else "missed") + noise)
        for title, value, sign, limit, noise in figures(results)])
