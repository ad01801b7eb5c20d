"""What all scenarios share."""

from traced import Hang


class Refused(Exception):
    """The server has refused a request and goes on."""


class Untrue(Exception):
    """The server has said something that is not so."""


class Outcome:
    """What one run has come to."""

    def __init__(self):
        self.client = "ok"      # or what went wrong, as the client saw it
        self.tries = 0          # requests that were refused and tried again
        self.results = []       # what the client received, to be compared with a clean run
        self.status = None      # exit status of the traced command
        self.wrong = []         # what must not be, whatever the fault


def finish(traced, outcome):
    """Waits for the traced processes; what does not end is wrong."""
    try:
        outcome.status = traced.finish()
    except Hang as hang:
        outcome.wrong.append(str(hang))


class Scenario:
    roles = ()      # those whose calls fail
    watched = ()    # those whose rights are looked at
    from_phase = 0  # calls of earlier phases belong to another scenario
    daemon_log = True
    says_rights = False
    makes = ()      # files that the client has made, or that are there while it makes them

    def __init__(self, site, injector, folder):
        self.site, self.injector, self.folder = site, injector, folder
        self.expected = {}  # moment: role: states of clean runs

    def points(self):
        """Faults of another kind than of a system call's."""
        return []

    def learn(self, traced):
        for moment, states in traced.snapshots.items():
            for role, state in states.items():
                self.expected.setdefault(moment, {}).setdefault(role, set()).add(state)

    def snapshot(self, traced, moment, learning):
        traced.snapshot(moment, self.watched, None if learning else self.expected.get(moment, {}))
