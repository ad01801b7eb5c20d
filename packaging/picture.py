#!/usr/bin/env python3
"""Makes try.svg, the picture in README.md: a terminal in which packaging/try.sh runs.

    python3 packaging/picture.py

Runs try.sh, and writes what it says to try.svg beside this file. What depends on the machine, the user and the time
gives way to examples, so that each run gives the same picture. PORT is that of try.sh.
"""

import os
import pty
import re
import subprocess
import sys
import textwrap
from xml.sax.saxutils import escape

FOLDER = os.path.dirname(os.path.realpath(__file__))
COMMAND = "sh packaging/try.sh --once"
SOURCE = "~/wrenssh"

# What differs between runs, and what the picture shows. The user is an ordinary one: for root, three layers of the
# sandbox more hold. Long keys would be noise.
EXAMPLES = (
    (r"\A(?s:.*?)(?=^== )", ""),  # installed packages
    (r"^\.\.\. .*\n", ""),
    (r"^Others may write to a folder .*\n.*\n", ""),
    (r"/\S*/\.wrensshd-try-\w+", f"{SOURCE}/build/try-data"),
    (re.escape(os.path.dirname(FOLDER)), SOURCE),
    (r"(?<=for )\S+, uid \d+$", "ann, uid 1000"),
    (r"(?<=ssh )\S+(?=@)", "ann"),
    (r"(?<= user=)\S+", "ann"),
    (r"^uid=.*", "uid=1000(ann) gid=1000(ann) groups=1000(ann)"),
    (r"^Linux \S+$", "Linux 6.12.48"),
    (r"(?<=ssh-ed25519 )AAAA\S+", "AAAAC3NzaC1lZDI1NTE5AAAAIPVW..."),
    (r"(?<= key=SHA256:)\S+", "9tEj..."),
    (r"(?<=SHA256:)[\w+/]{43}", "uoUt..."),
    (r"(?<=127\.0\.0\.1:)\d+", "2222"),
    (r"(?<==127\.0\.0\.1 )\d+ 127\.0\.0\.1 \d+", "54148 127.0.0.1 2222"),
    (r"(?<= port=)\d+", "54148"),
    (r"(?<=^wrensshd\[)\d+", "93"),
    (r"(?<= pid=)\d+", "95"),
    (r"(?<= layers=)root,uid,groups,", ""),
    (r" admission=none$", ""),
    (r"(?<=SSH-2\.0-OpenSSH_)[^\"]*", "10.6"),
    (r" in=\d+ out=\d+ seconds=\d+ ", " in=3670 out=2615 seconds=0 "),
    (r" +$", ""),
)

COLUMNS = 100
COLUMN_WIDTH, LINE_HEIGHT, MARGIN, BAR = 7.8, 18, 22, 34
STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; white-space: pre; fill: #1f2328 }
.title, .command { font-weight: bold }
.paper { fill: #f6f8fa; stroke: #d0d7de } .dot { fill: #d0d7de }
.dim { fill: #59636e } .title { fill: #0550ae } .good { fill: #116329 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .paper { fill: #161b22; stroke: #3d444d } .dot { fill: #3d444d }
.dim { fill: #9198a1 } .title { fill: #79c0ff } .good { fill: #7ee787 }
}
"""
# The parts of a line that look different; each group names its class.
STYLED = re.compile(r"(?P<title>^== .*)|(?P<dim>^wrensshd\[\d+\]:)|(?P<command>(?<=^\$ ).*|(?<=: )event=\w+)"
                    r"|(?P<good>^\$|verdict=accepted|^exit status: 0$)")


def run():
    """All that try.sh says on a terminal."""
    ours, theirs = pty.openpty()
    said = b""
    with subprocess.Popen(["sh", os.path.join(FOLDER, "try.sh"), "--once"], stdin=subprocess.DEVNULL, stdout=theirs,
                          stderr=theirs) as process:
        os.close(theirs)
        try:
            while more := os.read(ours, 65536):
                said += more
        except OSError:  # EIO: nobody has the terminal open any more
            pass
    os.close(ours)
    text = said.decode().replace("\r\n", "\n")
    if process.returncode != 0:
        sys.exit(f"picture.py: try.sh failed:\n{text}")
    return text


def with_examples(text):
    for pattern, example in EXAMPLES:
        text = re.sub(pattern, example, text, flags=re.M)
    return text


def folded(text):
    """The lines as the picture has them: long ones continue in the next line, with an indent."""
    for line in text.splitlines():
        yield from textwrap.wrap(line, COLUMNS, subsequent_indent="    ", break_on_hyphens=False) or [""]


def parts_of(line):
    """(class, first column, words) of each part of a line; most have no class."""
    at = 0
    for found in STYLED.finditer(line):
        yield "", at, line[at:found.start()]
        yield found.lastgroup, found.start(), found[0]
        at = found.end()
    yield "", at, line[at:]


def drawn(lines):
    """The texts of the picture, and its height. Each font has a width of its own, which must not clip a line."""
    texts, y = [], BAR + MARGIN
    for line in lines:
        for kind, column, words in parts_of(line):
            column, words = column + len(words) - len(words.lstrip()), words.strip()
            if words:
                name = f' class="{kind}"' if kind else ""
                texts.append(f'<text{name} x="{MARGIN + column * COLUMN_WIDTH:.1f}" y="{y}"'
                             f' textLength="{len(words) * COLUMN_WIDTH:.1f}">{escape(words)}</text>')
        y += LINE_HEIGHT if line else LINE_HEIGHT // 2
    return texts, y - LINE_HEIGHT + MARGIN


def picture(text):
    texts, height = drawn(["$ " + COMMAND, *folded("\n" + text)])
    width = round(2 * MARGIN + COLUMNS * COLUMN_WIDTH)
    dots = "".join(f'<circle class="dot" cx="{MARGIN + 5 + 18 * number}" cy="{BAR // 2 + 2}" r="5"/>' for number in range(3))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
        ' aria-labelledby="title text">',
        '<title id="title">A login at wrensshd, in a terminal</title>',
        f'<desc id="text">{COMMAND} builds wrensshd, makes a host key, serves 127.0.0.1, logs in with ssh, and shows what was'
        ' agreed on and the log.</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>', dots, *texts, "</svg>"]) + "\n"


def main():
    if sys.argv[1:]:
        sys.exit(__doc__)
    text = picture(with_examples(run()))
    with open(os.path.join(FOLDER, "try.svg"), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
