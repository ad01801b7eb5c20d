"""Machines side by side, each in a process of its own, and one line on the terminal that shows their steps."""

import ctypes
import json
import selectors
import signal
import subprocess
import sys
import time

PRCTL = ctypes.CDLL(None).prctl  # looked up before any fork
PR_SET_PDEATHSIG = 1


def end_with_parent(number):
    """For preexec_fn: no process outlives the one that started it, however that ends."""
    return lambda: PRCTL(PR_SET_PDEATHSIG, number)


def tell(**words):
    """From a machine's process to the one that started it: `step`, or `verdict`, `reason` and `accelerator`."""
    print(json.dumps(words), flush=True)


class Worker:
    """The process of one machine."""

    def __init__(self, name):
        self.name, self.begin, self.step = name, time.monotonic(), "starts"
        self.accelerator = None
        self.verdict, self.reason, self.unread = "FAILED", "its process ended without a verdict", b""
        self.process = subprocess.Popen([sys.executable, "-m", "vm", "--one", name], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, preexec_fn=end_with_parent(signal.SIGTERM))

    def seconds(self):
        return time.monotonic() - self.begin

    def listen(self):
        """Receives its messages; false at its end."""
        piece = self.process.stdout.read1(65536)
        *lines, self.unread = (self.unread + piece).split(b"\n")
        for line in lines:
            words = json.loads(line)
            self.step = words.get("step", self.step)
            self.accelerator = words.get("accelerator", self.accelerator)
            self.verdict, self.reason = words.get("verdict", self.verdict), words.get("reason", self.reason)
        return bool(piece)


class Line:
    """Written over and over on a terminal, and nothing elsewhere."""

    def __init__(self, out=sys.stderr):
        self.out, self.live = out, out.isatty()

    def write(self, text):
        if self.live:
            self.out.write(f"\r\033[K{text}"[:150])
            self.out.flush()

    def clear(self):
        self.write("")


def run_all(names, jobs, line, done):
    """Runs them, so many at once, in this order; calls done(worker) at the end of each."""
    waiting, finished = list(names), 0
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or selector.get_map():
                while waiting and len(selector.get_map()) < jobs:
                    worker = Worker(waiting.pop(0))
                    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
                for key, _ in selector.select(1):
                    if not key.data.listen():
                        selector.unregister(key.fileobj)
                        key.data.process.wait()
                        finished += 1
                        line.clear()
                        done(key.data)
                at_work = [key.data for key in selector.get_map().values()]
                line.write(f"[{finished}/{len(names)}] " + "; ".join(
                    f"{worker.name}: {worker.step} ({worker.seconds():.0f} s)" for worker in at_work))
        except BaseException:
            # Each cleans up after itself.
            workers = [key.data.process for key in selector.get_map().values()]
            for process in workers:
                process.terminate()
            for process in workers:
                process.wait()
            line.clear()
            raise
