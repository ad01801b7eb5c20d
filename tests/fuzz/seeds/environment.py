"""A client's variable, or the launcher's variables."""

NAMES = ["LANG", "LC_ALL", "LC_", "LC_a_9", "LC_A-B", "LC_" + "x" * 29, "LC_" + "x" * 30, "COLORTERM", "NO_COLOR",
         "GIT_PROTOCOL", "LANGUAGE",
         "PATH", "LD_PRELOAD", "", "lang", "LANG\0"]
VALUES = ["", "de_DE.UTF-8", "a/b", "%s", " ~!", "\x7f", "\x1f", "\xe4", "x" * 255, "x" * 256, "a\0b", "[]^\\",
          "version=2"]
LAUNCHERS = ["", "PATH=/bin\nTZ=UTC\nSECRET=x", "CREDENTIALS_DIRECTORY=/run/c\nA=b", "TZ=a\nTZ=b\nTZ=c", "TZ=",
             "TZX=1\nTZ",
             "CREDENTIALS_DIRECTORY=/a\nCREDENTIALS_DIRECTORY=/b\nTZ=UTC", "A\n\nB=\0x"]


def seeds():
    for name in NAMES:
        for value in VALUES:
            yield f"\0{name}\n{value}".encode("latin-1")
    for launcher in LAUNCHERS:
        yield b"\1" + launcher.encode()
