"""What must hold after a fault, whatever it was."""

import os
import re

import proc
from surprises import allowed
from table import CLIENT_HAS_LEFT, is_mild
from traced import difference

_SANITIZER = re.compile(r"AddressSanitizer|runtime error:|UndefinedBehavior")


class Judge:
    def __init__(self, scenario, site):
        self.scenario, self.site = scenario, site
        self.clean = None      # the outcome of a clean run
        self.clean_reason = None
        self.files = self.look_around()
        self.key_rights = None  # of the child that reads keys

    def learn(self, traced, outcome):
        self.scenario.learn(traced)
        if self.clean is None:
            self.clean, self.clean_reason = outcome, reason_of(traced)
            self.key_rights = traced.record().rights.get("0.2")
        wrong = [("promise", word) for word in outcome.wrong] + self.judge_left()
        if outcome.client != "ok" or outcome.tries or comparable(outcome.results) != comparable(self.clean.results):
            wrong.append(("clean run", f"{outcome.client}, {outcome.tries}, {outcome.results}"))
        return wrong

    def look_around(self):
        """All that a run could leave behind: files, terminals, processes. Without the files that the client makes."""
        found = [f"terminal {name}" for name in os.listdir("/dev/pts") if name != "ptmx"]
        for top in ("/run", "/var/lib", "/dev/shm"):
            for folder, folders, files in os.walk(top):
                folders[:] = [name for name in folders if not is_ours(os.path.join(folder, name))]
                found += [os.path.join(folder, name) for name in folders + files
                          if name not in (*self.scenario.makes, "wrensshd.places")]
        left = [pid for pid in proc.descendants(os.getpid()) if pid != os.getpid()]
        found += [f"process {b' '.join(proc.command_line(pid)).decode()}" for pid in left]
        return sorted(found)

    def judge(self, traced, outcome, point, fault):
        """A list of (rule, words). Empty: all is well."""
        record = traced.record()
        wrong = [("promise", word) for word in outcome.wrong]
        wrong += [("crash", f"{role} by signal {number}") for role, number in record.crashes()]
        wrong += [("sanitizer", line) for line in traced.log() if _SANITIZER.search(line)]
        if record.struck is None and fault != "full":
            return [("not reached", "")]
        wrong += self.judge_left()
        wrong += self.judge_rights(traced, record, outcome)
        if self.scenario.daemon_log:
            wrong += judge_log(traced, outcome, point, fault)
        if is_mild(point.name, fault):
            wrong += self.judge_unchanged(traced, outcome)
        if self.scenario.name == "listen" and len(outcome.results) < 2 and outcome.client != "did not start":
            if not (fault == "kill" and point.role == "0"):
                wrong.append(("next login", outcome.client))
        return [(rule, words) for rule, words in wrong if not allowed(self.scenario.name, point, fault, rule, words)]

    def judge_left(self):
        def look():
            reap()
            now = self.look_around()
            return None if now == self.files else now
        now = proc.wait_until(lambda: look() is None, 1.0 * proc.SLOWNESS) or look()
        if now is True or now is None:
            return []
        new = sorted(set(now) - set(self.files))
        self.tidy_up(new)
        return [("left", ", ".join(new) or "less than before")]

    @staticmethod
    def tidy_up(names):
        for name in reversed(names):
            if name.startswith("/") and "/.wrensshd-" in name:
                os.rmdir(name)

    def judge_rights(self, traced, record, outcome):
        wrong = []
        for moment, states in traced.snapshots.items():
            for role, state in states.items():
                expected = self.scenario.expected.get(moment, {}).get(role)
                if expected and state not in expected and state != "gone":
                    nearest = min(expected, key=lambda one: len(difference(one, state)))
                    wrong.append(("rights", f"{role} at {moment}: {difference(nearest, state)}"))
        if self.key_rights and "in" in traced.snapshots and record.rights.get("0.2") not in (None, self.key_rights):
            wrong.append(("rights", f"0.2 has answered as {record.rights.get('0.2')}"))
        if self.scenario.says_rights and outcome.client == "ok" and outcome.results:
            there, clean = str(outcome.results[-1]), str(self.clean.results[-1])
            wrong += [] if there == clean else [("rights", f"the user's program says {there!r} instead of {clean!r}")]
        return wrong

    def judge_unchanged(self, traced, outcome):
        wrong = []
        if outcome.client != "ok" or outcome.tries:
            wrong.append(("changed", f"the client sees: {outcome.client}, tries {outcome.tries}"))
        elif comparable(outcome.results) != comparable(self.clean.results):
            wrong.append(("changed", f"{outcome.results} instead of {self.clean.results}"))
        elif outcome.status != self.clean.status:
            wrong.append(("changed", f"status {outcome.status} instead of {self.clean.status}"))
        elif reason_of(traced) != self.clean_reason:
            wrong.append(("changed", f"reason {reason_of(traced)}"))
        return wrong


def judge_log(traced, outcome, point, fault):
    ends, troubles = traced.events("end"), traced.events("trouble")
    monitor_is_killed = fault == "kill" and point.role == "0"
    if point.target.endswith("/log") and not ends:
        return []  # the line could not be written
    if len(ends) > 1:
        return [("log", "two end lines")]
    if not ends and not monitor_is_killed:
        if not troubles and not any("no random numbers" in line for line in traced.log()):
            return [("log", "neither an end line nor a refusal")]
        if outcome.status == 0:
            return [("log", "no end line, and status 0")]
    if ends and not ends[0].get("reason"):
        return [("log", "an end line without a reason")]
    if (ends and outcome.status == 0 and outcome.client.startswith("Closed") and "client" in ends[0]["reason"]
            and fault not in {f"error:{number}" for number in CLIENT_HAS_LEFT}):
        return [("log", f"the server closed, and says: {ends[0]['reason']}")]
    return []


def reason_of(traced):
    ends = traced.events("end")
    return ends[0].get("reason") if ends else None


def comparable(results):
    return [str(each) for each in results]


def is_ours(path):
    """The suite's own folder, and the machine's /etc."""
    return path in ("/run/etc", "/run/faults", "/run/loaded")


def reap():
    """This process is the first one of its machine, so that orphans become its children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
