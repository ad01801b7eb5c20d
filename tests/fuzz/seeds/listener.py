"""Clients of wrensshd-listen: settings, then operations (tests/fuzz/listener.c)."""

CONNECT, WRITE, EXIT, CLOSE, TIME, HUP, ACCEPT_FAILS, FORK_FAILS, PIPE_FAILS, NO_GETRANDOM, FLOOD = 0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12
MORE = 0x80
H, L, R, N, D, X = range(6)
LEAST, FROM_ONE, DROP, NO_DROP, NO_PENALTY, SHORT_PENALTY, ENDS_ALL, NOHUP = (1 << bit for bit in range(8))
MAPPED, NETWORK, OTHER_NETWORK = 1, 2, 6


def setup(flags=0, *values):
    penalty = [] if flags & NO_PENALTY else [4]
    return bytes([flags, *values, *penalty])


def connect(number=1, family=0):
    return bytes([CONNECT | family << 4, number])


def write(client, *letters):
    return bytes([WRITE | len(letters) - 1 << 4, client, *letters])


def leave(client=0):
    return bytes([EXIT, client])


def time(seconds):
    return bytes([MORE | TIME, 2 * seconds])


REFUSED = connect() + write(0, H, R) + leave()


def named():
    yield "a login", {"admits", "logs-in"}, setup() + connect() + write(0, H) + write(0, L) + leave()
    yield "penalty, and its end", {"punishes", "refuses-by-penalty", "admits"}, setup() + REFUSED * 3 + connect() + time(3) + connect() + time(60) + connect()
    yield "penalty, other addresses", {"punishes", "admits"}, setup() + REFUSED * 2 + connect(1, MAPPED) + connect(2) + connect(1, NETWORK)
    yield "penalty of a network", {"punishes", "refuses-by-penalty"}, (
        setup() + (connect(1, NETWORK) + write(0, H, D) + leave()) + connect(1, OTHER_NETWORK) + connect(1, 10) + connect(1, NETWORK))
    yield "forgiven", {"forgives", "admits"}, setup() + REFUSED + connect() + write(0, H, L) + REFUSED
    yield "forgiven while it is refused", {"punishes", "forgives", "admits"}, (
        setup() + connect() * 3 + write(0, H, R) * 2 + write(0, H, L) + connect() + connect())
    yield "a new penalty after the old", {"punishes", "admits"}, setup() + REFUSED * 2 + time(60) + REFUSED + connect() + connect()
    yield "hosts of one network", {"punishes", "refuses-by-penalty"}, setup() + (connect(1, NETWORK) + write(0, H, D) + leave()) + connect(1, 10) + connect(1, 14)
    yield "no penalties", {"admits"}, setup(NO_PENALTY) + REFUSED * 9
    yield "penalty with a limit", {"punishes"}, setup(SHORT_PENALTY) + REFUSED * 3 + time(5) + connect()
    yield "deadline", {"punishes"}, setup() + connect() + write(0, H) + write(0, D) + leave()
    yield "many from one", {"refuses-one"}, setup(FROM_ONE | NO_DROP, 1) + connect() * 4 + leave() + connect()
    yield "full", {"full", "admits"}, setup(LEAST | NO_DROP, 2) + connect(1) + connect(2) + connect(3) + connect(4) + leave() + connect(4)
    yield "a share for each", {"keeps-a-share"}, setup(LEAST, 7) + b"".join(connect() + write(i, H) for i in range(5)) + connect(2)
    yield "dropped", {"drops"}, setup(DROP, 4, 1, 50) + b"".join(connect(i) + write(i, H) for i in range(9))
    yield "all dropped", {"drops"}, setup(DROP, 0, 0, 0) + b"".join(connect(i) + write(i, H) for i in range(3))
    yield "no random numbers", {"drops"}, setup(DROP, 4, 1, 1) + bytes([MORE | NO_GETRANDOM]) + b"".join(connect(i) + write(i, H) for i in range(6))
    yield "random numbers of the device", {"admits"}, setup(DROP, 4, 1, 1) + bytes([NO_GETRANDOM]) + b"".join(connect(i) + write(i, H) for i in range(6))
    yield "a table that overflows", {"forgets-a-penalty"}, setup(NO_DROP) + REFUSED * 2 + bytes([MORE | FLOOD, 180]) + connect()
    yield "a program that reports nothing", {"admits"}, setup() + connect() + bytes([CLOSE, 0]) + connect() + write(1, X, X, X) + leave(1) + connect()
    yield "a program that writes without end", {"admits"}, setup() + connect() + write(0, *[X] * 16) * 2 + write(0, H) + leave()
    yield "a login after a closed pipe", {"admits"}, setup() + connect() + write(0, L, H, R) + bytes([CLOSE, 0]) + leave()
    yield "no pipe", {"admits"}, setup() + bytes([PIPE_FAILS]) + connect() + connect() + leave()
    yield "no fork", {"fork-fails"}, setup() + bytes([FORK_FAILS]) + connect() + connect()
    yield "no pipe, no fork", {"fork-fails"}, setup() + bytes([PIPE_FAILS, FORK_FAILS]) + connect() + connect()
    yield "accept fails", {"admits"}, setup() + bytes([ACCEPT_FAILS, MORE | ACCEPT_FAILS]) + time(2) + connect()
    yield "hangup ends", set(), setup() + connect() + bytes([HUP]) + connect()
    yield "hangup does not end", {"admits"}, setup(NOHUP) + connect() + bytes([HUP]) + connect()
    yield "ends all", {"ends-all"}, setup(ENDS_ALL) + connect() + bytes([HUP]) + leave() + time(2)
    yield "ends all at once", {"ends-all"}, setup(ENDS_ALL) + connect() + bytes([HUP, HUP])
    yield "log lines", {"refuses-one"}, setup(FROM_ONE | NO_DROP, 0) + connect() * 40 + time(20) + connect()
