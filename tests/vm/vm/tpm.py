"""A TPM in software (swtpm), for a machine and for a chroot that makes the machine's image."""

import contextlib
import os
import signal
import subprocess
import time

from . import debian
from .machine import SLOWNESS
from .place import LOGS, Failed
from .workers import end_with_parent

# What SeaBIOS writes into PCRs 0 to 7 before it starts the kernel: TPM2's separator, of which this is the SHA-256. In
# a chroot nothing has written it.
SEPARATOR = "ad95131bc0b799c0b1af477fb14fcf26a6a9f76079e48bf090acb7e8367bfd0e"
SECONDS = 2


class Tpm:
    """A TPM whose state is kept from one power-up to the next. A new one is in the state of a TPM that was cleared. It
    locks itself after three power cuts: each machine must turn itself off."""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.state = place.path(name)
        os.mkdir(self.state)
        self.process = None

    def start(self, control, *how, server=None):
        """Powers it up, with a socket for control, and one for commands if qemu does not bring one."""
        sockets = [control, server or control]
        if self.process:
            self.process.wait(SECONDS * SLOWNESS)
        for path in sockets:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        command = ["swtpm", "socket", "--tpm2", "--tpmstate", "dir=" + self.state,
                   "--ctrl", f"type=unixio,path={control}", *how]
        if server:
            command += ["--server", f"type=unixio,path={server}"]
        with open(os.path.join(LOGS, f"{self.place.name}.{self.name}.swtpm"), "ab") as words:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=words, stderr=words,
                                            preexec_fn=end_with_parent(signal.SIGKILL))
        end = time.monotonic() + SECONDS * SLOWNESS
        while not all(os.path.exists(path) for path in sockets):
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise Failed(f"swtpm does not listen: status {self.process.wait()}")
            time.sleep(0.05)

    def flags(self):
        """qemu's, for a machine that has it. It ends with the machine."""
        path = os.path.relpath(self.place.path(self.name + ".ctrl"))  # short, as the path of a socket has to be
        self.start(path, "--terminate")
        return ("-chardev", f"socket,id=tpm,path={path}", "-tpmdev", "emulator,id=tpm,chardev=tpm",
                "-device", "tpm-tis,tpmdev=tpm")

    @contextlib.contextmanager
    def in_chroot(self, root):
        """Gives the words before a command in that root file system whose programs of systemd are to use it. The PCRs
        are as in the machine when its firmware has started the kernel."""
        server = os.path.relpath(os.path.join(root, "run", self.name))
        self.start(server + ".ctrl", "--flags", "not-need-init,startup-clear", server=server)
        tcti = f"swtpm:path=/run/{self.name}"
        tools = ("env", "TPM2TOOLS_TCTI=" + tcti)
        try:
            debian.chroot(self.place, root, *tools, "tpm2_pcrextend", f"7:sha256={SEPARATOR}")
            yield ("env", "SYSTEMD_TPM2_DEVICE=" + tcti)
            debian.chroot(self.place, root, *tools, "tpm2_shutdown", "--clear")
        finally:
            self.process.terminate()
