"""AsyncSSH, driven by Hypothesis: random sessions on one connection, compared with a model of what their programs must
print and how they must end. WREN_RANDOM_EXAMPLES=1000 plays that many, other ones at each run, and looks for the shortest
one that fails, which may take minutes."""

import asyncio
import os

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.devnull)  # nothing in the source tree

import pytest  # noqa: E402

asyncssh = pytest.importorskip("asyncssh", reason="asyncssh is not installed in this Python")
hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed in this Python")

from hypothesis import stateful, strategies  # noqa: E402

from daemon import SLOWNESS  # noqa: E402
from openssh import OpenSSH  # noqa: E402

EXAMPLES = int(os.environ.get("WREN_RANDOM_EXAMPLES", "0"))
PHASES = list(hypothesis.Phase) if EXAMPLES else [hypothesis.Phase.generate]
SESSIONS = 16
SIGNALS = ["ABRT", "ALRM", "HUP", "INT", "KILL", "PIPE", "QUIT", "TERM", "USR1", "USR2"]
# Less than a window: AsyncSSH keeps what it may not send, and a model of that would be a second AsyncSSH.
MOST_BYTES = 400_000


def pattern(seed, count):
    return bytes([seed % 251, seed // 251 % 251, 10]) * (count // 3) + b"z" * (count % 3)


class Echo:
    """A program that answers with its input. The model: the bytes that have not come back yet, and the exit status."""

    def __init__(self, process, status):
        self.process, self.status, self.owed, self.shut = process, status, b"", False

    async def read(self, count):
        got = await self.process.stdout.readexactly(count)
        assert got == self.owed[:count], "the program's output is not its input"
        self.owed = self.owed[count:]


class Terminal:
    """A program that prints the size of its terminal for each line. The model: the size."""

    def __init__(self, process, size):
        self.process, self.size = process, size


class Sessions(stateful.RuleBasedStateMachine):
    """Rules open sessions, write, read, resize, send signals, end input, close and exchange keys, in any order."""
    connect = None  # set by the test
    echoes, terminals = stateful.Bundle("echoes"), stateful.Bundle("terminals")

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.connection = self.do(self.connect())
        self.open = []

    def do(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, 30 * SLOWNESS))

    def start(self, command, **how):
        """The process, or None where all places are taken: then the server must refuse. A program whose input has ended
        may be over already, so it gives up its place first."""
        if len(self.open) == SESSIONS:
            for session in [one for one in self.open if isinstance(one, Echo) and one.shut]:
                self.finish(session)
        starting = self.connection.create_process(command, encoding=None, **how)
        if len(self.open) < SESSIONS:
            return self.do(starting)
        with pytest.raises(asyncssh.ChannelOpenError):
            self.do(starting)
        return None

    def end(self, session):
        """The program is over: the server has closed the channel."""
        self.do(session.process.wait_closed())
        self.open.remove(session)
        return session.process

    # ---- sessions ---------------------------------------------------------------------------

    @stateful.rule(target=echoes, status=strategies.integers(0, 255), late=strategies.booleans())
    def open_echo(self, status, late):
        """A late program lets its input pile up first."""
        process = self.start(f"{'sleep 0.2; ' if late else ''}cat; exit {status}")
        if process:
            self.open.append(Echo(process, status))
            return self.open[-1]
        return stateful.multiple()

    @stateful.rule(target=terminals, columns=strategies.integers(1, 500), rows=strategies.integers(1, 200))
    def open_terminal(self, columns, rows):
        process = self.start("stty -echo; echo ready; while read x; do stty size; done; exit 3", term_type="vt100",
                             term_size=(columns, rows))
        if process:
            assert self.do(process.stdout.readline()).strip() == b"ready"
            self.open.append(Terminal(process, (rows, columns)))
            return self.open[-1]
        return stateful.multiple()

    @stateful.rule(out=strategies.integers(0, 120_000), errors=strategies.integers(0, 120_000),
                   status=strategies.integers(0, 255))
    def run_to_its_end(self, out, errors, status):
        if len(self.open) < SESSIONS:
            done = self.do(self.connection.run(
                f"head -c {out} /dev/zero; head -c {errors} /dev/zero >&2; exit {status}", encoding=None))
            assert (len(done.stdout), len(done.stderr), done.exit_status) == (out, errors, status)

    # ---- data -------------------------------------------------------------------------------

    @stateful.rule(echo=echoes, seed=strategies.integers(0, 60_000),
                   sizes=strategies.lists(strategies.integers(0, 70_000), min_size=1, max_size=6))
    def write(self, echo, seed, sizes):
        if echo not in self.open or echo.shut:
            return
        for number, size in enumerate(sizes):
            data = pattern(seed + number, min(size, MOST_BYTES - len(echo.owed)))
            echo.process.stdin.write(data)
            echo.owed += data

    @stateful.rule(echo=echoes, share=strategies.floats(0, 1))
    def read(self, echo, share):
        if echo in self.open:
            self.do(echo.read(int(len(echo.owed) * share)))

    @stateful.rule(echo=echoes)
    def end_input(self, echo):
        if echo in self.open and not echo.shut:
            echo.process.stdin.write_eof()
            echo.shut = True

    @stateful.rule(echo=echoes)
    def finish(self, echo):
        if echo not in self.open:
            return
        self.end_input(echo)
        self.do(echo.read(len(echo.owed)))
        assert self.do(echo.process.stdout.read()) == b""
        assert self.end(echo).exit_status == echo.status

    # ---- terminals --------------------------------------------------------------------------

    @stateful.rule(terminal=terminals, columns=strategies.integers(1, 65_535), rows=strategies.integers(1, 65_535))
    def resize(self, terminal, columns, rows):
        if terminal in self.open:
            terminal.process.change_terminal_size(columns, rows)
            terminal.size = (rows, columns)

    @stateful.rule(terminal=terminals)
    def ask_size(self, terminal):
        if terminal in self.open:
            terminal.process.stdin.write(b"\n")
            assert tuple(map(int, self.do(terminal.process.stdout.readline()).split())) == terminal.size

    @stateful.rule(terminal=terminals)
    def type_the_end(self, terminal):
        if terminal in self.open:
            terminal.process.stdin.write(b"\x04")
            assert self.do(terminal.process.stdout.read()).strip() == b""
            assert self.end(terminal).exit_status == 3

    # ---- signals, ends, keys ----------------------------------------------------------------

    @stateful.rule(name=strategies.sampled_from(SIGNALS))
    def signal(self, name):
        if len(self.open) < SESSIONS:
            process = self.start("echo ready; exec cat")
            self.open.append(Echo(process, None))
            assert self.do(process.stdout.readline()) == b"ready\n"
            process.send_signal(name)
            assert self.end(self.open[-1]).exit_signal[0] == name

    @stateful.rule(session=strategies.one_of(echoes, terminals))
    def close(self, session):
        """The client closes, whatever is under way."""
        if session in self.open:
            session.process.close()
            self.end(session)

    @stateful.rule()
    def exchange_keys(self):
        """AsyncSSH sends KEXINIT with the next packet when it has sent enough."""
        self.connection._rekey_bytes_sent = self.connection._rekey_bytes

    @stateful.rule()
    def keepalive(self):
        self.connection.send_debug("still here")

    def teardown(self):
        try:
            for session in list(self.open):
                if isinstance(session, Echo):
                    self.finish(session)
                else:
                    self.ask_size(session)
                    self.type_the_end(session)
            self.connection.close()
            self.do(self.connection.wait_closed())
        finally:
            self.connection.abort()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()


def test_random_sessions(site, server):
    """However sessions are mixed, each program gets its own input, and the client its output, size and exit status."""
    known = asyncssh.import_known_hosts(f"[127.0.0.1]:{server.port} {site.host_line}\n")
    Sessions.connect = staticmethod(lambda: asyncssh.connect(
        "127.0.0.1", server.port, username=site.user.pw_name, known_hosts=known, config=None,
        client_keys=[site.identity], agent_path=None, kex_algs=["curve25519-sha256"]))
    stateful.run_state_machine_as_test(Sessions, settings=hypothesis.settings(
        max_examples=EXAMPLES or 25, stateful_step_count=40, deadline=None, database=None, derandomize=not EXAMPLES,
        phases=PHASES, suppress_health_check=list(hypothesis.HealthCheck)))
    assert server.wait_idle()
    ends = server.log.events("end")
    assert len(ends) == len(server.log.events("connection")) >= (EXAMPLES or 25)
    assert {end["reason"] for end in ends} <= {"client disconnected (11): Disconnected by application"}
    OpenSSH(site, server.port).works()
