"""Variables of a launcher, and numbers."""

import struct

ADDRESSES = ["192.0.2.7", "2001:db8::7", "::ffff:192.0.2.7", "fe80::1%eth0", "fe80::1%", "fe80::1%et/h",
             "192.0.2.7%eth0", "192.0.2", "1.2.3.04",
             "256.1.1.1", "nowhere", "", "-", "::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "::ffff:1.2.3.4%lo",
             "fe80::1%eth0%x",
             "fe80::1%interface-name0", "fe80::1%interface-name01", "0000:0000:0000:0000:0000:ffff:192.168.100.200",
             "::1.2.3.4"]
PORTS = ["22", "65535", "65536", "0", "", "-", "000000022", "0000000022", "+1", "22 "]
NUMBERS = ["", "0", "9", "10", "18446744073709551615", "18446744073709551616", "99999999999999999999",
           "000000000000000000000000001", "1x",
           "-1", "123456789", "1234567890", "1\0"]


def seeds():
    for address in ADDRESSES:
        yield b"\0" + "\n".join([address, "22", "192.0.2.1", "2222", "10.0.0.1", "1"]).encode()
        yield b"\0" + "\n".join(["-", "-", "-", "-", address, "22"]).encode()
        yield b"\0" + "\n".join(["10.0.0.1", "22", address, "2222", "-", "-"]).encode()
    for port in PORTS:
        yield b"\0" + "\n".join(["10.0.0.1", port, "10.0.0.2", port, "-", "-"]).encode()
        yield b"\0" + "\n".join(["-", "-", "-", "-", "10.0.0.1", port]).encode()
    for most in (0, 9, 10, 65535, 2**64 - 1):
        for number in NUMBERS:
            yield b"\1" + struct.pack(">Q", most) + number.encode()
