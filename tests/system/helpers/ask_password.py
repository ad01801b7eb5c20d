"""
ask_password.py NAME FOLDER RIGHT TRIES: asks for a passphrase as systemd does, through files and sockets in FOLDER
(https://systemd.io/PASSWORD_AGENTS), until it has got the right one, and makes FOLDER/mapper/NAME, or the
tries are used up. It judges an answer when there is no FOLDER/hold.
"""

import os
import socket
import sys
import time


def ask(folder, name, number, message=None):
    """Asks one question and returns the answer to it."""
    message = message or f"Please enter passphrase for disk {name}:"
    sock = os.path.join(folder, f"sck.{name}{number}")
    question = os.path.join(folder, f"ask.{name}{number}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asker:
        asker.bind(sock)
        with open(question + ".new", "w", encoding="ascii") as file:
            file.write(f"[Ask]\nPID={os.getpid()}\nSocket={sock}\nAcceptCached=0\nEcho=0\n"
                       f"Message={message}\nId=cryptsetup:/dev/{name}\n")
        os.rename(question + ".new", question)
        answer = asker.recv(4096).rstrip(b"\0")
    os.unlink(question)
    os.unlink(sock)
    return answer


def main(name, folder, right, tries):
    folder = os.path.abspath(folder)
    for number in range(int(tries)):
        answer = ask(folder, name, number)
        while os.path.exists(os.path.join(folder, "hold")):
            time.sleep(0.05)
        if answer == b"+" + right.encode():
            with open(os.path.join(folder, "mapper", name), "w", encoding="ascii"):
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
