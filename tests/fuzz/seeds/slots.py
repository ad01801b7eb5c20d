"""Tables of connections before their login: the front with four penalties, a source, slots (tests/fuzz/slots.c)."""

import struct

NOW = 1000000000
V4, V6, UID = 0x0000FFFFC0000200, 0x20010DB800000000, 0x75000003E8
FAR = 2**62


def table(count, slots, magic=b"wrensshd", version=2, limit=8, penalties=(), source=(V4 + 1, 0), added=3000, random=5):
    front = struct.pack("=8sIIqQqQ", magic, version, limit, 0, 0, 0, 0)
    front += b"".join(struct.pack("=QqQ", *penalty) for penalty in penalties).ljust(4 * 24, b"\0")
    return (struct.pack("=BI", count - 1, random) + front + struct.pack("=QQI", *source, added)
            + b"".join(struct.pack("=QQqII", *slot, 0) for slot in slots))


def seeds():
    for magic, version, limit in ((b"wrensshd", 1, 8), (b"Wrensshd", 2, 8), (b"wrensshd", 2, 7), (b"wrensshd", 2, 129),
                                  (b"wrensshd", 2, 128)):
        yield table(16, [], magic, version, limit)
    for until, trusted in ((NOW + 1, 0), (NOW + 60000, 0), (NOW + 60001, 0), (NOW + 3600000, 1), (FAR, 1), (-FAR, 0)):
        yield table(16, [], penalties=[(V4 + 1, until, trusted)])
    for phase in (1, 2, 3):
        yield table(256, [(V6, 1, 7, phase)])  # one group
        for network, host, step, host_step in ((V6, 1, 1 << 16, 0), (V6, 1, 256, 0), (V6, 1, 1, 0), (V6, 1, 0, 1), (V6, 1, 0, 0),
                                               (V4, 0, 256, 0), (V4, 0, 1, 0), (UID, 0, 1, 0), (UID, 0, 0, 0)):
            yield table(20, [(network + i * step, host + i * host_step, NOW + 10 * i, (phase + i // 15) % 4) for i in range(20)])
    # Records of logins: none, of whom nobody holds, all held, only the reserve free; the settings are in the first bytes.
    for record in (0, 1, 4, 5):
        for slots, how in ((0, 0), (0, 1), (0, 6), (0, 7), (120, 0), (120, 129)):
            yield bytes([slots, 7, how]) + bytes([record]) * 432
            yield bytes([slots, 7, how]) + (bytes([record]) * ((8 + slots) * 25 // 8)).ljust(432, b"\0")
    for times in ((FAR, -FAR, 0, -1, NOW), (5, 5, 5, 5, 5)):
        yield table(5, [(V6 + (i << 16), 1, times[i], 1) for i in range(5)])
