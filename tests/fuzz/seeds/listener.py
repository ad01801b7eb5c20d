"""Clients of wrensshd-listen: settings, then operations (tests/fuzz/listener.c)."""

CONNECT, EXIT, TIME, HUP, ACCEPT_FAILS, FORK_FAILS = 0, 4, 6, 7, 8, 9
MORE = 0x80
LEAST, FROM_ONE, SYSTEMD, ENDS_ALL, NOHUP = 1, 2, 16, 64, 128
KINDS, FOREIGN, COUNT = 0x80, 0x40, 0x20
MAPPED, NETWORK, UNIX, OTHER_NETWORK = 1, 2, 3, 6


def setup(flags=0, *values):
    return bytes([flags, *values])


def connect(number=1, family=0):
    return bytes([CONNECT | family << 4, number])


def leave(client=0):
    return bytes([EXIT, client])


def time(seconds):
    return bytes([MORE | TIME, 2 * seconds])


def named():
    yield "one after the other", {"admits"}, setup() + (connect() + leave()) * 3
    yield "many from one", {"refuses-one", "admits"}, setup(FROM_ONE, 1) + connect() * 4 + leave() + connect()
    yield "three quarters for one", {"refuses-one", "admits"}, setup(LEAST, 7) + connect() * 7 + connect(2)
    yield "full", {"full", "admits"}, setup(LEAST, 2) + connect(1) + connect(2) + connect(3) + connect(4) + leave() + connect(4)
    yield "one place", {"full", "admits"}, setup(LEAST | FROM_ONE, 0, 1) + connect(1) + connect(2) + leave() + connect(2)
    yield "a flood", {"full"}, setup(LEAST, 3) + b"".join(connect(i) for i in range(40)) + leave(2) + leave(1) + connect(50)
    yield "hosts of one network", {"refuses-one"}, setup(FROM_ONE, 0) + connect(1, NETWORK) + connect(1, 10) + connect(1, OTHER_NETWORK)
    yield "mapped", {"refuses-one"}, setup(FROM_ONE, 0) + connect(1) + connect(1, MAPPED) + connect(2, MAPPED)
    yield "Unix sockets", {"refuses-one"}, setup(FROM_ONE, 0) + connect(1, UNIX) + connect(2, UNIX) + connect(2)
    yield "many end at once", {"admits"}, setup() + connect() * 5 + leave(0) + leave(1) + leave(2) + connect()
    yield "no fork", {"fork-fails"}, setup() + bytes([FORK_FAILS]) + connect() + connect()
    yield "accept fails", {"admits"}, setup() + bytes([ACCEPT_FAILS, MORE | ACCEPT_FAILS]) + time(2) + connect()
    yield "hangup ends", set(), setup() + connect() + bytes([HUP]) + connect()
    yield "hangup does not end", {"admits"}, setup(NOHUP) + connect() + bytes([HUP]) + connect()
    yield "ends all", {"ends-all"}, setup(ENDS_ALL) + connect() + bytes([HUP]) + leave() + time(2)
    yield "ends all at once", {"ends-all"}, setup(ENDS_ALL) + connect() + bytes([HUP, HUP])
    yield "log lines", {"refuses-one"}, setup(FROM_ONE, 0) + connect() * 40 + time(20) + connect()
    yield "sockets of systemd", {"passes-sockets", "admits"}, setup(SYSTEMD, 3) + connect() + connect(1, UNIX) + leave() + connect(1, NETWORK)
    yield "full on both sockets", {"passes-sockets", "full"}, setup(LEAST | SYSTEMD, 1, 2) + b"".join(connect(i) for i in range(5))
    yield "no sockets", {"passes-wrong-sockets"}, setup(SYSTEMD, 0)
    yield "sockets of another", {"passes-wrong-sockets"}, setup(SYSTEMD, FOREIGN | 2)
    yield "fewer sockets than told", {"passes-wrong-sockets"}, setup(SYSTEMD, COUNT | 2, 3)
    yield "far too many told", {"passes-wrong-sockets"}, setup(SYSTEMD, COUNT | 2, 65)
    yield "a datagram socket", {"passes-wrong-sockets"}, setup(SYSTEMD, KINDS | 2, 0, 2)
    yield "a connection", {"passes-wrong-sockets"}, setup(SYSTEMD, KINDS | 1, 3)
    yield "some of the sockets", {"passes-sockets", "admits"}, setup(SYSTEMD, COUNT | KINDS | 3, 0, 0, 2, 2) + connect()
