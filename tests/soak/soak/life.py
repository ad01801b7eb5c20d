"""The soak inside its machine: `life.py OPTIONS`, in JSON. Writes a report as a line of JSON after each round."""

import collections
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "system", "helpers")]

import census  # noqa: E402
import kernel_memory  # noqa: E402
import launchers  # noqa: E402
from site_setup import Site, run_or_fail  # noqa: E402

# What memory may differ by, and the kernel's for each connection of the run: see README.md.
LAUNCHER_NOISE = 64 << 10
SYSTEMD_NOISE = 1 << 20
KERNEL_NOISE = 1 << 20
KERNEL_NOISE_SHARED = 64 << 20
KERNEL_NOISE_EACH = 16

_EVENT = re.compile(r"\[\d+\]: event=([a-z-]+)")
_REASON = re.compile(r'reason=("[^"]*"|\S+)')
_SOURCE = re.compile(r"from=(\S+) port=([0-9]+)")
_SAID = re.compile(r"(.*?) from (\S+): key exchange: the server has closed the connection$")

# One guest may be evicted in its key exchange, and one more of so many: see README.md.
GUESTS_FOR_ONE_EVICTED = 50_000


def set_up_network():
    """All of 10.0.0.0/8 is this machine. For the daemon 127.0.0.0/8 is a single source, which gets no penalty."""
    run_or_fail(["ip", "route", "add", "local", "10.0.0.0/8", "dev", "lo"])
    for name, value in (("tcp_max_tw_buckets", 256), ("tcp_fin_timeout", 5), ("tcp_max_syn_backlog", 4096)):
        with open(f"/proc/sys/net/ipv4/{name}", "w", encoding="ascii") as file:
            file.write(str(value))


def set_up_folders(keep):
    for place in ("/tmp", "/home"):
        if not any(path.startswith(place + "/") for path in keep):
            run_or_fail(["mount", "-n", "-t", "tmpfs", "-o", "mode=1777", "none", place])
    os.mkdir("/run/mqueue")
    run_or_fail(["mount", "-n", "-t", "mqueue", "none", "/run/mqueue"])


class Life:
    def __init__(self, options):
        self.options = options
        set_up_network()
        set_up_folders([os.environ["WRENSSHD"], options["build"]])
        self.site = Site()
        half = os.path.join(self.site.user.pw_dir, "half")  # what vanishing guests leave half written is theirs
        with open(half, "wb"):
            os.chown(half, self.site.user.pw_uid, self.site.user.pw_gid)
        self.launcher = launchers.start(options, self.site)
        self.kernel_files = options["kernel_files"]
        if options["kernel_folder"]:
            self.kernel_files = kernel_memory.open_files(options["kernel_folder"])
        self.counts, self.events, self.ends, self.trouble, self.said = {}, collections.Counter(), collections.Counter(), [], []
        self.usual, self.rounds, self.started = None, 0, None
        self.early_ends, self.evicted, self.guests = {}, [], 0

    def clients(self, lives):
        """wren-soak's report."""
        soak = os.path.join(self.options["build"], "tests", "soak", "wren-soak")
        self.rounds += 1
        with subprocess.Popen([soak, str(lives), str(self.options["workers"]),
                               str(self.options["seed"] * 100000 + self.rounds), "soak", "--connect", f"127.0.0.1:{self.launcher.port}",
                               "--user", self.site.user.pw_name, "--key", self.site.identity, "--host-key",
                               self.launcher.host_line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as running:
            while running.poll() is None:
                time.sleep(0.5)
                census.reap([os.getpid(), self.launcher.pid, running.pid])
            report = json.loads(running.stdout.read() or "{}")
        if running.returncode != 0 or self.launcher.trouble() is not None:
            raise SystemExit(f"wren-soak: {running.returncode}, the launcher: {self.launcher.trouble()}")
        return report

    def read_log(self):
        for line in self.launcher.take_log():
            event = _EVENT.search(line)
            name = event[1] if event else "no event"
            self.events[name] += 1
            reason = _REASON.search(line)
            if name == "end" and reason:
                self.ends[re.sub(r"[0-9]+", "N", reason[1].strip('"'))[:60]] += 1
                source = _SOURCE.search(line)
                if source and re.match('"(evicted|login deadline)', reason[1]):
                    self.early_ends[f"{source[1]}:{source[2]}"] = reason[1].strip('"')
            if name in ("no event", "trouble", "dropped") and len(self.trouble) < 20:
                self.trouble.append(line.rstrip()[:200])

    def census(self):
        stays = census.PLANTED_STAYS_SECONDS if self.options["plant"] else census.STAYS_SECONDS
        return census.take(self.launcher.pid, [os.getpid(), self.launcher.pid], self.kernel_files, stays, self.usual)

    def warm_up(self):
        """What is there before the first connection is usual, and so is the memory after some of them."""
        while not census.listens(self.launcher.port) and self.launcher.trouble() is None:
            time.sleep(0.1)
        self.usual = self.census()
        self.usual["files"].add(census.SLOTS)  # the first connection makes it, and it stays
        self.clients(self.options["warm_up"])
        self.usual.update({name: value for name, value in self.census().items() if name.startswith("memory")})
        self.read_log()
        self.events.clear()
        self.ends.clear()
        self.started = time.monotonic()

    def live(self, lives):
        report = self.clients(lives)
        for kind, outcomes in report["counts"].items():
            before = self.counts.get(kind, [0] * len(outcomes))
            self.counts[kind] = [one + other for one, other in zip(before, outcomes)]
        self.guests += report["guests"]
        self.read_log()
        for words in report["said"]:
            self.explain(words)
        self.early_ends.clear()

    def explain(self, words):
        """Adds to what a guest said why the log says that the server ended it. One that was evicted is cut short."""
        said = _SAID.match(words)
        reason = said and self.early_ends.get(said[2])
        if reason and reason.startswith("evicted"):
            self.counts[said[1]][1] += 1
            self.counts[said[1]][2] -= 1
            self.evicted.append(f"{words}: {reason}")
        elif len(self.said) < 20:
            self.said.append(f"{words}: {reason}" if reason else words)

    def guests_are_wrong(self):
        return any(outcomes[2] for outcomes in self.counts.values()) or \
            len(self.evicted) > 1 + self.guests // GUESTS_FOR_ONE_EVICTED

    def total(self):
        return sum(map(sum, self.counts.values()))

    def report(self, is_last):
        now = self.census()
        self.read_log()
        left = census.left(self.usual, now)
        grown = {name: now[name] - self.usual[name] for name in now if name.startswith("memory")}
        kernel_noise = (KERNEL_NOISE if self.kernel_files else KERNEL_NOISE_SHARED)
        kernel_noise += KERNEL_NOISE_EACH * self.total()
        launcher_noise = SYSTEMD_NOISE if self.options["launcher"] == "systemd" else LAUNCHER_NOISE
        wrong = list(left)
        wrong += ["memory of the launcher"] * (grown["memory of the launcher"] > launcher_noise)
        wrong += ["memory of the kernel"] * (grown["memory of the kernel"] > kernel_noise)
        wrong += ["guests"] * self.guests_are_wrong()
        # Each connection ends with a line; one that is evicted in its first moments has no other.
        wrong += ["log"] * bool(self.trouble or self.events["connection"] > self.events["end"])
        print(json.dumps({
            "last": is_last, "round": self.rounds - 1, "seconds": time.monotonic() - self.started, "total": self.total(),
            "counts": self.counts, "left": {name: left.get(name, []) for name in now if isinstance(now[name], set)},
            "grown": grown, "noise": {"memory of the launcher": launcher_noise, "memory of the kernel": kernel_noise},
            "events": self.events, "ends": self.ends, "trouble": self.trouble, "said": self.said + self.evicted[:20],
            "wrong": wrong}), flush=True)
        return wrong

    def run(self):
        self.warm_up()
        while True:
            before = self.total()
            self.live(min(self.options["round"], self.options["connections"] - before))
            late = self.options["end"] and time.monotonic() > self.options["end"]
            is_last = bool(late or self.total() >= self.options["connections"])
            if self.report(is_last) or is_last:
                break
        self.launcher.stop()


if __name__ == "__main__":
    Life(json.loads(sys.argv[1])).run()
