"""Lines of authorized_keys: situations of keys.csv that no test of tests/system plays."""

import pytest

# What stands before the key, and what a command prints then; None: no login.
BEFORE = {
    "forge": ('command="echo forced",no-port-forwarding,no-X11-forwarding,no-agent-forwarding,no-pty,no-user-rc,restrict ', "forced"),
    "cloud": (r'''no-port-forwarding,no-agent-forwarding,command="echo 'log in as \"ann\"';sleep 0" ''', 'log in as "ann"'),
    "backup": ('command="echo $SSH_ORIGINAL_COMMAND",restrict ', "echo in"),
    "backslash": (r'command="printf %s a\\b" ', "a\\b"),
    "empty command": ('command="" ', ""),
    "elsewhere first": ('from="192.0.2.1",command="echo bad" KEY\ncommand="echo good" ', "good"),
    "expired first": ('expiry-time="20200101" KEY\n', "in"),
    "authority first": ("cert-authority KEY\n", "in"),
    "unbalanced first": ('command="echo KEY\n', "in"),
    "unknown first": ("no-such KEY\n", "in"),
    "byte-order mark": ("\u00ef\u00bb\u00bf", "in"),
    "tab": ("\t", "in"),
    "pty before restrict": ("pty,restrict ", "in"),
    "tunnel": ('tunnel="any",permitopen="[::1]:*",permitlisten="8080" ', "in"),
    "patterns": ('from="10.*,127.*" ', "in"),
    "blank in a list": ('from="192.0.2.1, 127.0.0.1" ', None),
    "bits after the prefix": ('from="127.0.0.1/8" ', None),
    "only denials": ('from="!192.0.2.1" ', None),
    "name of a host": ('from="localhost" ', None),
    "value for a flag": ("no-pty=yes ", None),
    "single quotes": ("command='echo forced' ", None),
    "two commands": ('command="echo 1",command="echo 2" ', None),
    "two lists": ('from="127.0.0.1",from="10.0.0.1" ', None),
    "short date": ('expiry-time="2099" ', None),
    "empty option": ("no-pty,,restrict ", None),
    "form feed": ("\v", None),
    "number of bits": ("256 ", None),
}


@pytest.mark.parametrize("name", BEFORE)
def test_before_the_key(site, ssh, name):
    """The line counts, or does not, as with OpenSSH; an option that is empty never counts."""
    before, output = BEFORE[name]
    site.authorize(before.replace("KEY", site.identity_line) + site.identity_line)
    try:
        done = ssh("echo in")
    finally:
        site.authorize()
    assert (done.stdout.strip() if done.returncode == 0 else None) == output, done.stderr


@pytest.mark.parametrize("name, after, enters", [
    ("quote in the comment", ' it"s mine', True), ("zero byte", " c\0d", True), ("Latin-1", " \u00e4", True),
    ("carriage return", " c\r", True), ("padding", "=", False), ("more bytes", "AAAA", False)])
def test_after_the_key(site, ssh, name, after, enters):
    """What follows the key is a comment of any bytes, if a blank is between."""
    site.authorize(" ".join(site.identity_line.split()[:2]) + after)
    try:
        done = ssh("echo in")
    finally:
        site.authorize()
    assert (done.returncode == 0) == enters, (name, done.stderr)
