"""A booted machine: qemu, with KVM where that works, its console in a file, its port 22 as one of ours."""

import functools
import os
import platform
import re
import signal
import socket
import subprocess
import threading
import time

from .place import LOGS, Failed
from .workers import end_with_parent

# Other programs may use the host's processors, too.
SLOWNESS = float(os.environ.get("WREN_SLOWNESS", "1"))

# Weaker processors than max hang or oops on x86, and on a busy host its kernel finds the timer too slow and gives up,
# unless it is told not to check. In qemu 7.2 Debian 13's kernel died of a double fault at cmpxchg16b; without that and
# without five levels of pages it boots. A card's name lacks its bus.
MODELS = {
    "x86_64": ("qemu-system-x86_64", ("-M", "q35", "-cpu", "max,-la57,-cx16"), "pci", "ttyS0 no_timer_check"),
    "aarch64": ("qemu-system-aarch64", ("-M", "virt", "-cpu", "cortex-a53"), "device", "ttyAMA0"),
    "armv7": ("qemu-system-arm", ("-M", "virt", "-cpu", "cortex-a7"), "device", "ttyAMA0"),
    "riscv64": ("qemu-system-riscv64", ("-M", "virt"), "device", "ttyS0"),
    "mipsel": ("qemu-system-mipsel", ("-M", "malta", "-cpu", "24Kf"), "pci", "ttyS0"),
}
EMULATED = ("-accel", "tcg,thread=multi,tb-size=128")
# With KVM the processor is this machine's own.
KVM = {"x86_64": ("-M", "q35", "-cpu", "host", "-accel", "kvm"),
       "aarch64": ("-M", "virt,gic-version=host", "-cpu", "host", "-accel", "kvm")}
KVM_SECONDS = 10  # a kernel without a root file system, which panics at once, needs about one


@functools.cache
def why_no_kvm(architecture, kernel):
    """
    The reason why KVM can't run this kernel, or None if it can. It boots the kernel to find out: where KVM is nested,
    qemu may open it and then crash, or be slower than without.
    """
    if architecture not in KVM or platform.machine() != architecture:
        return f"this machine is {platform.machine()}"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "no /dev/kvm"
    command = [MODELS[architecture][0], *KVM[architecture], "-nodefaults", "-no-reboot", "-display", "none", "-m", "256",
               "-kernel", kernel, "-append", "panic=-1"]
    try:
        done = subprocess.run(command, timeout=KVM_SECONDS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, preexec_fn=end_with_parent(signal.SIGKILL))
    except subprocess.TimeoutExpired:
        return f"with KVM no kernel boots within {KVM_SECONDS} s"
    if done.returncode != 0:
        words = done.stdout.decode("utf-8", "replace").splitlines() or [f"status {done.returncode}"]
        return f"KVM fails: {words[0]}"
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def read_all(connection):
    """Reads until the other end closes it."""
    try:
        while connection.recv(65536):
            pass
    except OSError:
        pass


class Machine:
    def __init__(self, place, name, *, kernel, initrd, append="", disks=(), architecture="x86_64", memory=256,
                 keep_writes=False, random=True, forward=(), plugged_in=True, wire=None, idle_card=False,
                 twin_card=False, served=(), tpm=None, late_disk=None, firmware=()):
        """
        Starts it. Disks are raw images, which stay as they are unless `keep_writes`. The guest's ports in `forward`
        are in `ports` as ours, as 22 is in `port`. Without `plugged_in` its network has no link until plug_in(). With
        a `wire` (wire.py) that is its network. With `idle_card` another card comes first, where nobody answers, and with
        `twin_card` another one on the same network.
        `served` are pairs of an address in its network, as 10.0.2.100:80, and a program that serves each connection.
        It has a `tpm` (tpm.py) if there is one. `firmware` are texts for the system, SMBIOS strings of type 11. The `late_disk` is plugged in by plug_in_disk().
        """
        program, model, bus, console = MODELS[architecture]
        place.step(f"{name}: tries KVM")
        no_kvm = why_no_kvm(architecture, kernel)
        processor = (*model, *EMULATED) if no_kvm else KVM[architecture]
        place.accelerator = f"emulated ({no_kvm})" if no_kvm else "KVM"
        self.place, self.name, self.port = place, name, wire.port if wire else free_port()
        self.ports = {22: self.port, **{port: free_port() for port in forward}}
        self.console = os.path.join(LOGS, f"{place.name}.{name}.console")
        self.keyboard, self.keyboard_name = None, f"wren-{os.getpid()}-{place.name}-{name}"
        forwards = ",".join(f"hostfwd=tcp:127.0.0.1:{ours}-:{guests}" for guests, ours in self.ports.items())
        forwards += "".join(f",guestfwd=tcp:{address}-cmd:{server}" for address, server in served)
        command = [program, *processor, "-nodefaults", "-no-reboot", "-display", "none", "-monitor", "stdio",
                   "-chardev", "socket,id=console,abstract=on,server=on,wait=off,"
                   f"path={self.keyboard_name},logfile={self.console}", "-serial", "chardev:console",
                   "-smp", "1", "-m", str(memory),
                   "-kernel", kernel, "-initrd", initrd,
                   "-append", f"console={console} panic=-1 mitigations=off {append}",
                   *(("-netdev", "hubport,id=idle,hubid=1",
                      "-device", f"virtio-net-{bus},netdev=idle,mac=52:54:00:12:34:ff") if idle_card else ()),
                   "-netdev", wire.netdev() if wire else f"user,id=n,restrict=on,{forwards}",
                   *(("-netdev", "hubport,id=all,hubid=2,netdev=n", "-netdev", "hubport,id=c,hubid=2",
                      "-netdev", "hubport,id=twin,hubid=2",
                      "-device", f"virtio-net-{bus},netdev=twin,mac=52:54:00:12:34:ff") if twin_card else ()),
                   "-device", f"virtio-net-{bus},netdev={'c' if twin_card else 'n'}" +
                   (",romfile=" if bus == "pci" else "")]
        if random:
            command += ["-device", f"virtio-rng-{bus}"]
        for number, disk in enumerate(disks):
            writes = "off" if keep_writes else "on"
            command += ["-drive", f"file={disk},format=raw,if=none,id=d{number},snapshot={writes}",
                        "-device", f"virtio-blk-{bus},drive=d{number}"]
        if late_disk:
            command += ["-device", "pcie-root-port,id=late-port",
                        "-drive", f"file={late_disk},format=raw,if=none,id=late,snapshot=on"]
        for text in firmware:
            command += ["-smbios", f"type=11,value={text}"]
        if tpm:
            command += tpm.flags()
        place.machines.append(self)
        self.begin = time.monotonic()
        with open(os.path.join(LOGS, f"{place.name}.{name}.qemu"), "wb") as words:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=words, stderr=words,
                                            preexec_fn=end_with_parent(signal.SIGKILL))
        if not plugged_in:
            self.monitor("set_link n off")

    def monitor(self, command):
        """Sends a command to qemu itself."""
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def plug_in(self):
        """Plugs the network cable in."""
        self.monitor("set_link n on")

    def plug_in_disk(self):
        self.monitor("device_add virtio-blk-pci,drive=late,bus=late-port")

    def type(self, text):
        """Types on the console."""
        if not self.keyboard:
            self.keyboard = socket.socket(socket.AF_UNIX)
            self.keyboard.connect("\0" + self.keyboard_name)
            # It also gets all output, and the machine waits until that is read.
            threading.Thread(target=read_all, args=(self.keyboard,), daemon=True).start()
        self.keyboard.sendall(text.encode())  # which is lost if it is closed before the machine has read

    def said(self):
        """Everything that it has written to its console."""
        try:
            with open(self.console, encoding="utf-8", errors="replace") as file:
                return file.read().replace("\r", "")
        except FileNotFoundError:
            return ""

    def seconds(self):
        return time.monotonic() - self.begin

    def wait(self, pattern, seconds, what=None):
        """The match of a regular expression on the console, as soon as it is there."""
        what = what or f"{pattern!r} on the console"
        end = time.monotonic() + seconds * SLOWNESS
        while True:
            ended = self.process.poll() is not None
            found = re.search(pattern, self.said(), re.MULTILINE)
            if found:
                return found
            if ended or time.monotonic() > end:
                raise Failed(f"{self.name}: {'ended' if ended else f'{seconds * SLOWNESS:.0f} s'} without {what}")
            self.place.step(f"{self.name}: waiting for {what}")
            time.sleep(0.1)

    def banner(self):
        """The greeting of its server, or b"". qemu accepts connections before anybody listens in the machine."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 2) as client:
                client.settimeout(3 * SLOWNESS)
                return client.recv(64)
        except OSError:
            return b""

    def wait_for_ssh(self, seconds):
        end = time.monotonic() + seconds * SLOWNESS
        while not self.banner().startswith(b"SSH-2.0-"):
            if time.monotonic() > end or self.process.poll() is not None:
                raise Failed(f"{self.name}: no SSH server within {seconds * SLOWNESS:.0f} s")
            self.place.step(f"{self.name}: waiting for SSH")
            time.sleep(0.3)

    def wait_for_end(self, seconds):
        """Waits until it has turned itself off."""
        try:
            self.process.wait(seconds * SLOWNESS)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{self.name}: still on after {seconds * SLOWNESS:.0f} s") from late

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        if self.keyboard:
            self.keyboard.close()
