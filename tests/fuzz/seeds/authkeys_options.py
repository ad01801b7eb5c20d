"""A byte with the circumstances, the client's address, then options."""

OPTIONS = ["", "pty", "restrict,pty", "no-pty,no-user-rc", "NO-PTY,X11-Forwarding", "no-touch-required,verify-required",
           "touch-required,no-verify-required", "no-restrict", "no-", "pty,", ",pty", "pty=\"x\"", "command",
           "no-command",
           'command="echo \\"hi\\"",restrict', 'command="a",command="b"', 'command=""', 'command="open', "command=x",
           'from="192.0.2.*,!192.0.2.9"', 'from="192.0.2.0/24",from="*"', 'from="a,"', 'from="10.0.0.1",nonsense',
           'from="10.0.0.1",expiry-time="20200101"', 'expiry-time="20991231Z"', 'expiry-time="20200101"',
           'expiry-time="2020"', 'environment="A=b",environment="A=c",environment="B_2="', 'environment="=b"',
           'environment="A B=c"', 'permitopen="host:22",permitopen="[::1]:*"', 'permitopen="22"', 'permitopen="h:0"',
           'permitopen="h:65536"', 'permitopen="h:0655359999"', 'permitopen="h:000022"', 'permitopen=":22"',
           'permitopen="a:b:1"', 'permitlisten="8080",permitlisten="localhost:8080"', 'permitlisten="*"',
           'permitopen="[]:1"', 'tunnel="0",tunnel="ANY"', 'tunnel="x"', 'tunnel="1234567890"',
           'principals="alice,bob",cert-authority', 'principals="carol"', 'principals="a",principals="b"',
           'principals=","',
           'unheard-of="x"', "an-option-with-a-name-that-is-much-too-long", 'command="\xff\x0f\xffa"',
           'command="\xff\x10\x00a"', 'environment="A=\xff\x03\xfda"', 'environment="A=\xff\x03\xfca"',
           'environment="A=\xff\x03\xf0a",environment="B=12345678901"',
           'environment="AB=c",environment="A=b"', 'permitopen="\xff\x0f\xfca:1"', 'permitopen="\xff\x0f\xfea:1"',
           'command="a\0b"', 'command="\\\\"",pty']


def seeds():
    for kind in (0, 2, 4, 7):
        for options in OPTIONS:
            yield bytes([kind]) + b"192.0.2.7\n" + options.encode("latin-1")
