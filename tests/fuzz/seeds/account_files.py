"""A question, pieces, a name and a file: 0xfe in the file is the name."""

NAME = b"bob"
USERS = [b"root:x:0:0:root:/root:/bin/sh\n\xfe:x:1000:1000:Bob,,,:/home/bob:/bin/bash\n", b"\xfe:x:1:2:::",
         b"\xfe:x:1:2::/:\r\n",
         b"#c\n\xfe::1:2:a b:/h:/bin/sh -l:x", b"\xfe:x:1:2::",
         b"\xfe:x:-1:2:::\n\xfe:x:4294967295:2:::\n\xfe:x:4294967294:2:::",
         b"\xfe:x: 1:2:::\n\xfe:x:01:0x2:::\n\xfe:x:+1:2:::", b"+\xfe:x:1:2:::\n-\xfe:x:1:2:::\n+::::::",
         b"\xfe:x:1:2::/\0:/bin/sh",
         b"\xfe:x:00000000000000000000001:00000000000000000000000001:::", b"\xfe:x:1:2::/\xff\x03\xfea:/s",
         b"\xfe:x:1:2::/\xff\x03\xffa:/s",
         b"\xfe:x:1:2::/h:/\xff\x04\x00a", b"#\xff\x02\x00a\n\n\n\xfe:x:1:2::/h:/s",
         b"x\xfe:x:1:2:::\n\xfex:x:1:2:::\n\xfe", b""]
GROUPS = [b"root:x:0:\n\xfe:x:100:\n", b"a:x:1:\xfe\nb:x:2:x,\xfe,y\nc:x:3:\xfe\xfe\nd:x:4:,\xfe,\ne:x:20:\xfe\n",
          b"a:x:1\n\xfe:x:1",
          b"a:x:1:\xfe:\xfe\n", b"a:x::\xfe\nb:x:5:\xfe\r\n", b"a:x:1:\xfe\0\n", b"\xfe:x:1:a,b\0c\n\xfe:x:2:",
          b"+:::\n-a:x:7:\xfe\na:x:7: \xfe", b"\xfe::7:",
          b"g:x:7:\xff\x03\x00a,\xfe"]
SHADOWS = [b"root:*:19000:0:99999:7:::\n\xfe:$6$x$y:19000:0:99999:7::20000:\n", b"\xfe:!:::::::",
           b"\xfe:!:::::::\n\xfe:!::::::7:",
           b"\xfe:!::::::7", b"\xfe:!::::::", b"\xfe:!:::::", b"\xfe:!::::::-1:", b"\xfe:!::::::9223372036854775807:",
           b"\xfe:!::::::9223372036854775808:", b"\xfe:!::::::1x:", b"\xfe:!::::::\0:", b"\xfe:!::::::1: \n",
           b"+\xfe:!::::::1:",
           b"\xfe:\xff\x02\x00a::::::1:", b"\xfe:!::::::000000000000000000000001:"]
# One group too few for the limit, as many, one too many.
MANY = [b"".join(b"g:x:%d:\xfe\n" % gid for gid in range(30, last)) for last in (1052, 1053, 1054)]
PIECES = [b"", b"\1\2\3\0\5\0\0\7\1\1\1\1\x40\xff\3"]


def seeds():
    for questions, files in (((0,), USERS), ((1, 2), GROUPS), ((3,), SHADOWS)):
        for question in questions:
            for file in files:
                for pieces in PIECES:
                    for name in (NAME, b""):
                        yield bytes([question, len(pieces)]) + pieces + name + b"\n" + file
    for file in MANY:
        yield b"\2\0" + NAME + b"\n" + file
