"""A table beside the rows of memory: each process of an idle session by itself, and the launcher."""

from statistics import median

from .processes import children_of, kilobytes, read
from .report import number
from .results import DYNAMIC, OURS

COLUMNS = ("VSZ", "RSS", "PSS", "private dirty")
LAUNCHER = "launcher, tcpserver"
TITLE = "Memory of each process of an idle session, KiB"


def of_process(pid):
    """The columns for one process."""
    rollup, status = kilobytes(read(f"/proc/{pid}/smaps_rollup")), kilobytes(read(f"/proc/{pid}/status"))
    return [status.get("VmSize", 0), *(rollup.get(name, 0) for name in ("Rss", "Pss", "Private_Dirty"))]


def own_roles(pids, children, user_of, user):
    """Of wrensshd's three processes: the monitor is above the others, and the session process is the user's."""
    roles = {}
    for pid in pids:
        above = any(other in pids for other in children.get(pid, ()))
        roles[pid] = "monitor" if above else "session" if user_of(pid) == user else "network"
    return roles


def user_of(pid):
    line = next((line for line in read(f"/proc/{pid}/status").splitlines() if line.startswith("Uid:")), "Uid: -1")
    return int(line.split()[1])


def title_of(pid, program):
    """What the process calls itself, if that says more than its program's name."""
    words = read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    return words if words.startswith(program) and ": " in words else program


class ProcessTable:
    def __init__(self, user):
        self.user, self._seen = user, {}  # {server: {role: [columns of each round]}}

    def roles(self, contender, pids):
        if contender.name in (OURS, DYNAMIC):
            return own_roles(pids, children_of(), user_of, self.user)
        return {pid: title_of(pid, contender.server.programs[0]) for pid in pids}

    def look(self, contender):
        """Adds one round: the server has one idle session."""
        seen = self._seen.setdefault(contender.name, {})
        pids = contender.running.processes()
        for pid, role in self.roles(contender, pids).items():
            seen.setdefault(role, []).append(of_process(pid))
        seen.setdefault(LAUNCHER, []).append(of_process(contender.running.process.pid))

    def lines(self, titles):
        lines = [f"{'':42}" + "".join(f"{name:>14}" for name in COLUMNS)] if self._seen else []
        for name in [name for name in titles if name in self._seen]:
            medians = {role: [median(values) for values in zip(*rounds)] for role, rounds in self._seen[name].items()}
            launcher = medians.pop(LAUNCHER)
            together = [sum(values) for values in zip(*medians.values())]
            lines.append(titles[name])
            for role, values in (*medians.items(), ("its processes together", together), (LAUNCHER, launcher)):
                lines.append(f"  {role:40}" + "".join(f"{number(value):>14}" for value in values))
            lines.append(f"  {'the launcher, of all':40}" + "".join(
                f"{100 * ours / (ours + theirs) if ours else 0:>12.0f} %" for ours, theirs in zip(launcher, together)))
        return lines
