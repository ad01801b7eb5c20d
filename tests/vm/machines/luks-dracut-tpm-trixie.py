"""Debian 13's dracut and a TPM: a sealed host key, and a root that the TPM opens or a passphrase over ssh"""

from vm import dracut_tpm

PROGRAMS = dracut_tpm.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 250


def run(place):
    dracut_tpm.unlock(place, "trixie")
