"""The attacks on the door, and the table of who was let in."""

from .report import number
from .results import LAUNCHED, OURS
from .stats import summary
from .sftp_tables import verdict

TITLE = "The door: logins served while others take all places"
WIDTH = 34
LEAST_SERVED_PERCENT = 95
OWN = (OURS, *LAUNCHED)

# Key, title, the server's address, the attackers (options of siege.py, or door.Held), seconds from one login to the next.
SCENARIOS = (
    ("silent1", "256 silent clients of one source", "127.0.0.1", {"silent": 256, "sources": 1}, 0.25),
    ("silent10", "256 silent clients of ten addresses", "127.0.0.1", {"silent": 256, "sources": 10}, 0.25),
    ("silent64", "256 silent clients of 64 sources", "127.0.0.1", {"silent": 256, "sources": 64}, 0.25),
    ("silent250", "250 silent clients, each a source", "127.0.0.1", {"silent": 250, "sources": 250}, 0.25),
    ("silent56", "256 silent clients, each a /64 of one /56", "::1", {"silent": 256, "sources": 256}, 0.25),
    ("mixed", "16 clients after a key exchange and 200 silent ones of ten addresses", "127.0.0.1",
     {"kex": 16, "silent": 200, "sources": 10}, 1),
    ("newcomers", "100 silent newcomers a second of 250 sources", "127.0.0.1", {"rate": 100, "sources": 250}, 1),
    ("held", "384 connections after the login of one restricted key", "127.0.0.1", {"held": 384}, 1),
)


def rows(key):
    """Served at all, served in a second, and the time."""
    title = next(title for name, title, *_ in SCENARIOS if name == key)
    return ((f"door.{key}.served", f"logins within 5 s: {title}", "%", "more"),
            (f"door.{key}.soon", f"logins within 1 s: {title}", "%", "more"),
            (f"door.{key}.time", f"time of a login, 5 s if there is none: {title}", "ms"))


def lines(results):
    out = [f"{'':{WIDTH}}{'n':>6}{'in 1 s, %':>12}{'in 5 s, %':>12}{'median, ms':>12}{'worst, ms':>12}"]
    for key, title, *_ in SCENARIOS:
        keys = [row[0] for row in rows(key)]
        if keys[0] not in results.rows:
            continue
        out.append(title)
        served, soon, late = (results.rows[name].samples for name in keys)
        for name in [name for name in results.titles if name in late]:
            told = summary(late[name])
            figures = [soon[name][0], served[name][0], told["median"], told["max"]]
            judged = verdict(soon[name][0], ">=", LEAST_SERVED_PERCENT).split(None, 1)[1] if name in OWN else ""
            out.append(f"  {results.titles[name]:{WIDTH - 2}}{told['n']:6}"
                       + "".join(f"{number(figure):>12}" for figure in figures) + ("  " + judged if judged else ""))
    return out
