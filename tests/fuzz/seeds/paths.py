"""Two paths."""

PATHS = ["", "a", "a/b", "a//b/", "./a/./b", "a/b/c", "a/bc", "..", "a/..", ".", "a/.b", "/", "//", "a/...",
         "\xff\x0f\xfea",
         "\xff\x0f\xfda/"]


def seeds():
    for path in PATHS:
        for other in PATHS:
            yield f"{path}\n{other}".encode("latin-1")
