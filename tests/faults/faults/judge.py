"""What must hold after a fault, whatever it was."""

import contextlib
import copy
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
        self.key_rights, self.says = set(), set()  # of the child that reads keys; of the user's program about itself

    def learn(self, traced, outcome):
        self.scenario.learn(traced)
        self.accept(traced, outcome)
        if self.clean is None:
            self.clean, self.clean_reason = outcome, reason_of(traced)
        wrong = [("promise", word) for word in outcome.wrong] + self.judge_left()
        if outcome.client != "ok" or outcome.tries or comparable(outcome.results) != comparable(self.clean.results):
            wrong.append(("clean run", f"{outcome.client}, {outcome.tries}, {outcome.results}"))
        return wrong

    def accept(self, traced, outcome):
        """What this run has shown is no surprise from now on."""
        self.key_rights.add(traced.record().rights.get("0.2"))
        self.says.add(str(outcome.results[-1]) if outcome.results else None)

    @contextlib.contextmanager
    def accepting(self, traced, outcome):
        """The same for a while: what a fault alone does is no news where it is one of two."""
        kept = copy.deepcopy((self.scenario.expected, self.key_rights, self.says))
        self.scenario.learn(traced)
        self.accept(traced, outcome)
        try:
            yield
        finally:
            self.scenario.expected, self.key_rights, self.says = kept

    def look_around(self):
        """All that a run could leave behind: files, terminals, processes. Without the files that the client makes."""
        found = [f"terminal {name}" for name in os.listdir("/dev/pts") if name != "ptmx"]
        for top in ("/run", "/var/lib", "/dev/shm"):
            for folder, folders, files in os.walk(top):
                folders[:] = [name for name in folders if not is_ours(os.path.join(folder, name))]
                found += [os.path.join(folder, name) for name in folders + files
                          if name not in (*self.scenario.makes, "wrensshd.slots")]
        left = [pid for pid in proc.descendants(os.getpid()) if pid != os.getpid()]
        found += [f"process {b' '.join(proc.command_line(pid)).decode()}" for pid in left]
        return sorted(found)

    def judge(self, traced, outcome, strikes):
        """A list of (rule, words). Empty: all is well. Two faults have many outcomes: these rules hold in all of
        them."""
        record = traced.record()
        wrong = [("promise", word) for word in outcome.wrong]
        wrong += [("crash", f"{role} by signal {number}") for role, number in record.crashes()]
        wrong += [("sanitizer", line) for line in traced.log() if _SANITIZER.search(line)]
        left = self.judge_left()  # also tidies up for the next run
        if len(record.struck) < len(strikes) and strikes[0].fault != "full":
            return [("not reached", "")]
        wrong += left
        wrong += self.judge_rights(traced, record, outcome, strikes)
        if self.scenario.daemon_log:
            wrong += judge_log(traced, outcome, strikes)
        if all(is_mild(strike) for strike in strikes):
            wrong += self.judge_unchanged(traced, outcome)
        if self.scenario.name == "listen" and len(outcome.results) < 2 and outcome.client != "did not start":
            if not kills_first(strikes):
                wrong.append(("next login", outcome.client))
        return [(rule, words) for rule, words in wrong if not self.allows(strikes, rule, words)]

    def allows(self, strikes, rule, words):
        return allowed(self.scenario.name, strikes, rule, words)

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
        return [("left", name) for name in new] or [("left", "less than before")]

    @staticmethod
    def tidy_up(names):
        for name in reversed(names):
            if re.search(r"/(\.wrensshd-|wrensshd\.slots\.)", name):
                (os.rmdir if os.path.isdir(name) else os.unlink)(name)

    def judge_rights(self, traced, record, outcome, strikes):
        wrong = []
        for moment, states in traced.snapshots.items():
            for role, state in states.items():
                expected = self.scenario.expected.get(moment, {}).get(role)
                if expected and state not in expected and state != "gone":
                    found = sorted((f"{role} at {moment}: {difference(one, state)}" for one in expected), key=len)
                    if not any(self.allows(strikes, "rights", words) for words in found):
                        wrong.append(("rights", found[0]))
        if "in" in traced.snapshots and record.rights.get("0.2") not in self.key_rights | {None}:
            wrong.append(("rights", f"0.2 has answered as {record.rights.get('0.2')}"))
        if self.scenario.says_rights and outcome.client == "ok" and outcome.results:
            there, clean = str(outcome.results[-1]), str(self.clean.results[-1])
            ended_well = outcome.results[0] == 0 or len(strikes) == 1  # two faults may strike both tries
            if there not in self.says and ended_well:
                wrong.append(("rights", f"the user's program says {there!r} instead of {clean!r}"))
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


def kills_first(strikes):
    return any(strike.fault == "kill" and strike.role == "0" for strike in strikes)


def judge_log(traced, outcome, strikes):
    ends, troubles = traced.events("end"), traced.events("trouble")
    is_whole = ends and (ends[0].get("reason") or len(strikes) == 1)
    if any(strike.target.endswith("/log") for strike in strikes) and not is_whole:
        return []  # the line could not be written
    if len(ends) > 1:
        return [("log", "two end lines")]
    if not ends and not kills_first(strikes):
        if not troubles and not any("no random numbers" in line for line in traced.log()):
            return [("log", "neither an end line nor a refusal")]
        if outcome.status == 0:
            return [("log", "no end line, and status 0")]
    if ends and not ends[0].get("reason"):
        return [("log", "an end line without a reason")]
    if (ends and outcome.status == 0 and outcome.client.startswith("Closed") and "client" in ends[0]["reason"]
            and not {strike.fault for strike in strikes} & {f"error:{number}" for number in CLIENT_HAS_LEFT}):
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
