"""Keys and certificates of the stock ssh-keygen."""

import shutil

from site_setup import run_or_fail
from whole_files import read_text, write


def make_key(path, kind="ed25519", passphrase="", more=()):
    run_or_fail(["ssh-keygen", "-q", "-t", kind, *more, "-N", passphrase, "-C", "host", "-f", path])
    return path


def public(path):
    """Type and base64 of the key, without the comment."""
    return " ".join(read_text(path + ".pub").split()[:2])


def knows(path, *lines):
    """A known_hosts file, and the options that make the client use it."""
    write(path, "".join(line + "\n" for line in lines))
    return [f"UserKnownHostsFile={path}"]


def certify(ca, key, *flags):
    """The certificate's path."""
    run_or_fail(["ssh-keygen", "-q", "-s", ca, "-I", "host", *flags, key + ".pub"])
    return key + "-cert.pub"


def certify_user(site, user, folder, command):
    """A certificate for the tests' key that forces the command, or none: the authority, and the client's option."""
    ca = make_key(f"{folder}/ca")
    shutil.copy(site.identity + ".pub", folder / "id.pub")
    forced = ["-O", f"force-command={command}"] if command else []
    return public(ca), "CertificateFile=" + certify(ca, f"{folder}/id", "-n", user.pw_name, *forced)
