"""A byte with the key and the opinion, then a line: 0xfe is the key."""

KEY = b"\xfe"
OTHERS = [b"ssh-rsa-cert-v01@openssh.com", b"ssh-dss", b"ssh-dss-cert-v01@openssh.com", b"ecdsa-sha2-nistp256",
          b"ecdsa-sha2-nistp256-cert-v01@openssh.com", b"ecdsa-sha2-nistp384",
          b"ecdsa-sha2-nistp384-cert-v01@openssh.com",
          b"ecdsa-sha2-nistp521", b"ecdsa-sha2-nistp521-cert-v01@openssh.com", b"sk-ecdsa-sha2-nistp256@openssh.com",
          b"sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", b"ssh-ed448"]
LINES = [KEY, KEY + b" comment", b"  \t" + KEY, b"restrict " + KEY, b'command="a \\" b",pty ' + KEY, b"# " + KEY, b"",
         b'cert-authority,principals="a,b" ' + KEY, b'from="1.2.3.4" cert-authority ' + KEY,
         b"cert-authority=\"\" " + KEY,
         b'environment="A=\\\\",cert-authority ' + KEY, b'command="a\\\\" b",pty ' + KEY, b'command="unclosed ' + KEY,
         b"ssh-rsa AAAA " + KEY, *[name + b" AAAA" for name in OTHERS], b"sk-ssh-ed25519-cert-v01@openssh.com AAAA",
         b"ssh-ed25519 AAAA", b'\\" ' + KEY,
         b'a="\xff\x10\x00b",cert-authority ' + KEY, b'a="\xff\x0f\xffb",cert-authority ' + KEY,
         b"\xff\x40\x01a " + KEY]
PARTS = [b"\x00", b"\x04\x00", b"\x0c\x0a\x05a\"b\\c\x01", b"\xff\x08\x03a b\x09\x02\\\\\x0e\x01\"\x07\x06\x02comment"]


def seeds():
    for key in range(2):
        for line in LINES:
            yield bytes([key]) + line
        for parts in PARTS:
            yield bytes([key | 2]) + parts
