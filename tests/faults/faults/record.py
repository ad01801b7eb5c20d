"""The injector's record of one run."""

import re
from collections import namedtuple

Call = namedtuple("Call", "key role phase name site count arguments target result")

_CALL = re.compile(r"call (([\d.x]+)/(\d+)/([\w-]+)/(\S+)) (\d+) (\S+) (.*) = (\?|-?\d+)$")


class Record:
    """`struck` has for each fault how many calls had ended before it."""

    def __init__(self, path):
        self.calls, self.starts, self.ends, self.rights, self.struck = [], [], [], {}, []
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                self._take(line.rstrip("\n"))

    def _take(self, line):
        kind, _, rest = line.partition(" ")
        if kind == "call":
            match = _CALL.match(line)
            if match:
                key, role, phase, name, site, count, arguments, target, result = match.groups()
                self.calls.append(Call(key, role, int(phase), name, site, int(count),
                                       [int(word, 16) for word in arguments.split(",")], target,
                                       None if result == "?" else int(result)))
        elif kind == "start":
            role, pid = rest.split()
            self.starts.append((role, int(pid)))
        elif kind == "exec":
            role, pid = rest.split()
            self.starts.append((role, int(pid)))
        elif kind == "end":
            role, pid, status = rest.split()
            self.ends.append((role, int(pid), int(status)))
        elif kind == "rights":
            role, _, found = rest.partition(";")
            self.rights.setdefault(role, found)
        elif kind == "fault":
            self.struck.append(len(self.calls))

    def pids(self):
        """The latest process of each role."""
        return dict(self.starts)

    def crashes(self):
        """Processes that a signal ended, other than those by which the processes end each other."""
        return [(role, status & 0x7f) for role, _, status in self.ends if status & 0x7f in (3, 4, 5, 6, 7, 8, 11, 31)]

    def tail(self, count=12):
        return [f"{call.role} {call.name}({call.target}) = {call.result}" for call in self.calls[-count:]]
