"""Command lines: the program's byte, then one argument a line."""

DAEMON = ["-q|keys", "-R|a|-Rb|keys", "-vvQ|-l|-L|keys", "-t|60|-i0|-m6|fd:3", "-t0|keys", "-t8640000|-i8640001|keys", "-m|keys", "-xsftp=internal-sftp|keys", "-x=|keys", "-xa|keys",
          "-Ss|-P|keys", "-SP|keys", "keys|more", "", "--|-keys", "-|", "-e|ls|-a%h/k|-c/ca|-R/r|-gusers|-rEB|/k", "-e||keys", "-ga|-g|b|keys", "-ga|-gb|-gc|keys", "fd:2", "/dev/fd/65535",
          "/dev/fd/x", "-:", "-?|keys", "-h", "-V", "|keys", "-t1234567890|keys", "-t 5|keys", "-t+5|keys", "-U0|-Gadm|keys", "-U|8640001|keys", "-G||keys", "|".join(["-xa=b"] * 17) + "|keys"]
LISTENER = ["22|/bin/true", "-c1|-s1024|0|/p|-x", "-c0|22|/p", "-m|48:30:64|22|/p", "-p|22|/p",
            "-b192.0.2.7|-ieth0|22|/p", "-b2001:db8::1|22|/p", "-bx|22|/p", "-i||22|/p",
            "-iabcdefghijklmnop|22|/p", "-k3600|22|/p", "-k3601|22|/p", "65536|/p", "22|p", "22", "-h", "-V", "-c|", "-z|22|/p", "systemd|/p", "-c9|systemd|/p|22", "-bx|systemd|/p", "-b::|systemd|/p", "-ilo|systemd|/p", "systemd"]
SFTP = ["-eRv", "-d|%h", "-j%u", "-j|/srv/%u/%%", "-j%", "-u022|-u|7", "-u8", "-u1000", "-u", "-popen,read|-Pread", "-px", "-j|/a|-j|/b", "-Qrequests", "-Qx", "-lDEBUG3|-fLOCAL7", "-lx",
        "-fLOCAL8", "operand", "--|host|sftp", "host|-R|sftp|-Z", "--", "-h", "-V", "-j|", "-d|" + "%h" * 600]
STARTS = {"-q|keys": "daemon-starts", "22|/bin/true": "listener-starts", "-eRv": "sftp-starts"}


def named():
    for which, texts in ((0, DAEMON), (1, LISTENER), (2, SFTP), (5, SFTP)):
        for text in texts:
            yield text[:60], {STARTS[text]} if text in STARTS else set(), bytes([which]) + text.replace("|", "\n").encode()
