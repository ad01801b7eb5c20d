"""A client's address, and a list."""

ADDRESSES = ["192.0.2.7", "2001:db8::7", "::ffff:192.0.2.7", "fe80::1%eth0", "nowhere", ""]
LISTS = ["192.0.2.7", "192.0.2.0/24", "192.0.2.0/30", "0.0.0.0/0", "::/0", "2001:db8::/32", "::ffff:192.0.2.0/120",
         "192.0.2.*,!192.0.2.9", "*.example", "!*", "192.0.2.1/24", "192.0.2.0/33", "a,", ",", "19?.0.2.7", "*"]


def seeds():
    for address in ADDRESSES:
        for entries in LISTS:
            yield f"{address}\n{entries}".encode()
