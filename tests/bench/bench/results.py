"""The measurements: rows of samples, curves, and notes. Saved as JSON and CSV, and read back to compare."""

import csv
import json
import os
from statistics import median

from .stats import summary, verdict

OURS = "wrensshd"
# The same server with another cipher: shown for comparison, but no peer in a verdict.
BAR = ("openssh-aes128", "openssh-aes256")
# Our own program again, built otherwise.
DYNAMIC = "wrensshd-dynamic"
# Our own program with OpenSSH's SFTP server in place of its own.
EXTERNAL = "wrensshd-external"
# OpenSSH with the SFTP server that is part of it.
INTERNAL = "openssh-internal"
# No server, but the least that a transfer costs.
LIMIT = "limit"
# Our own program under other launchers than tcpserver.
LAUNCHED = ("wrensshd-listen", "wrensshd-tcpsvd", "wrensshd-busybox", "wrensshd-xinetd", "wrensshd-inetd")
NO_PEERS = (OURS, DYNAMIC, EXTERNAL, LIMIT, *BAR, *LAUNCHED)
GROUPS = ("login", "cpu", "throughput", "interactive", "sftp", "memory", "scale", "size", "exchange", "keys", "ciphers",
          "crypto", "arm", "door", "links", "crowd", "listen", "cold")
# Measured only if they are named: they take long, or empty the machine's page cache.
APART = ("door", "links", "crowd", "listen", "cold")


# A client that is busy for this part of the time hardly ever waits.
CLIENT_BOUND = 0.9


class Row:
    """One figure of several servers. `better`: less or more. `client`: the part of the time that the client was busy,
    where it reports that."""

    def __init__(self, key, title, unit, better="less", samples=None, client=None):
        self.key, self.title, self.unit, self.better = key, title, unit, better
        self.samples, self.client = samples or {}, client or {}

    def client_bound(self, name):
        """True if the client was the bottleneck: the server might be faster."""
        return name in self.client and median(self.client[name]) >= CLIENT_BOUND

    @property
    def group(self):
        return self.key.split(".")[0]

    @property
    def exact(self):
        """True for what does not vary: bytes and instructions."""
        return self.group in ("size", "arm")

    @property
    def is_time(self):
        """False for counts of instructions and calls: fewer are not always faster, so they give no verdict."""
        return self.group != "arm" and self.key != "login.calls" and not self.key.startswith("cpu.instructions")

    def standing(self, compared):
        if not self.is_time:
            return "no verdict: a count is no time"
        bound = any(self.client_bound(name) for name in (OURS, self.best_peer()))
        return verdict(compared, self.better, self.exact) + (", client-bound" if bound else "")

    def peers(self):
        return {name: values for name, values in self.samples.items() if name not in NO_PEERS}

    def best_peer(self):
        peers = self.peers()
        choose = min if self.better == "less" else max
        return choose(peers, key=lambda name: median(peers[name])) if peers else None


class Results:
    def __init__(self, about=None, titles=None):
        self.about, self.titles = about or {}, titles or {}
        self.rows, self.curves, self.tables, self.notes = {}, {}, {}, []
        self.seconds = {}  # that each part of the run has taken
        self._rounds = {}  # of the curves: {(key, name): {x: [y, ...]}}

    def add(self, row, name, value):
        """One more sample. `row`: (key, title, unit) or (key, title, unit, better)."""
        self.rows.setdefault(row[0], Row(*row)).samples.setdefault(name, []).append(value)

    def client(self, key, name, share):
        self.rows[key].client.setdefault(name, []).append(share)

    def curve(self, key, title, x, y, name, points):
        """One more round of a line, which has the medians of all rounds."""
        rounds = self._rounds.setdefault((key, name), {})
        for at, value in points:
            rounds.setdefault(at, []).append(value)
        self.curves.setdefault(key, {"title": title, "x": x, "y": y, "lines": {}})["lines"][name] = [
            (at, median(values)) for at, values in rounds.items()]

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def ordered(self):
        return sorted(self.rows.values(), key=lambda row: GROUPS.index(row.group))

    # ---- files -------------------------------------------------------------------------------

    def save_json(self, path):
        rows = [{"key": row.key, "title": row.title, "unit": row.unit, "better": row.better, "samples": row.samples,
                 **({"client": row.client} if row.client else {})} for row in self.ordered()]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"about": self.about, "titles": self.titles, "notes": self.notes, "rows": rows,
                       "curves": self.curves, "tables": self.tables}, file, indent=1, ensure_ascii=False)
            file.write("\n")

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        out = cls(data["about"], data["titles"])
        out.notes, out.curves, out.tables = data["notes"], data["curves"], data["tables"]
        for row in data["rows"]:
            out.rows[row["key"]] = Row(**row)
        return out

    def save_csv(self, path):
        with open(path, "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["row", "title", "unit", "better", "server", "n", "median", "min", "max"])
            for row in self.ordered():
                for name, samples in row.samples.items():
                    told = summary(samples)
                    out.writerow([row.key, row.title, row.unit, row.better, name, told["n"],
                                  *(f"{told[what]:.6g}" for what in ("median", "min", "max"))])

    def save(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.save_json(os.path.join(folder, "results.json"))
        self.save_csv(os.path.join(folder, "results.csv"))
