"""The processes of one connection, for tests that look at each of them."""

import proc

GONE_SECONDS = 8 * proc.SLOWNESS  # long for what takes two, and short beside an idle timeout


class Three:
    """The processes of a connection, by name; before the login there are two."""

    def __init__(self, raw, logged_in=True):
        self.raw, self.line = raw, raw.line
        self.pids = {"network": raw.line.network, "monitor": raw.line.monitor}
        if logged_in:
            self.pids["session"] = raw.line.session

    def __getattr__(self, name):
        return self.pids[name]

    def gone(self, seconds=GONE_SECONDS):
        return proc.wait_until(lambda: not any(proc.alive(pid) for pid in self.pids.values()), seconds)

    def assert_gone(self):
        assert self.gone(), ({name: proc.status(pid).get("State") for name, pid in self.pids.items()},
                             self.line.log.text())
        self.line.wait_exit()
        ends = self.line.log.events("end")
        assert len(ends) == 1 and ends[0]["reason"], self.line.log.text()
        return ends[0]
