"""A process that holds a lease on a file, as Samba and the kernel's NFS server do, and gives it up when it is asked to."""

import contextlib
import subprocess
import sys

import pytest

from proc import PATIENCE_SECONDS

HOLDER = """
import fcntl, os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
kind = fcntl.F_WRLCK if sys.argv[2] == "read" else fcntl.F_RDLCK
file = os.open(sys.argv[1], os.O_RDWR if sys.argv[2] == "read" else os.O_RDONLY)
fcntl.fcntl(file, fcntl.F_SETLEASE, kind)
print("held", flush=True)
signal.sigwait([signal.SIGIO])
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
"""


@contextlib.contextmanager
def leased(path, until="read"):
    """The file has a lease until somebody reads or (`until="write"`) writes it, which must happen meanwhile."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, path, until], stdout=subprocess.PIPE, text=True) as holder:
        try:
            if holder.stdout.readline() != "held\n":
                pytest.skip("no leases here")
            yield
            assert holder.wait(PATIENCE_SECONDS) == 0
        finally:
            holder.kill()
