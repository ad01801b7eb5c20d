"""Debian 13's systemd: a user's own systemd and D-Bus, a job in a scope, machinectl, the journal's records, limits"""

from vm import board
from vm.__main__ import load
from vm.client import Person

systemd = load("systemd")
PROGRAMS = systemd.PROGRAMS
ARCHITECTURES = ("x86_64",)
LONG = True
SECONDS = 60


def run(place):
    person = Person(place)
    place.step("makes a disk")
    system = board.system(place, "x86_64")
    image = systemd.make_image(place, person, "trixie")
    systemd.make_initrd(place, system)
    place.step("boots")
    machine = systemd.boot(place, "trixie", system, image)
    person.knows(board.host_key(place, machine.port))
    ssh = person.ssh(machine)
    done = ssh(". /etc/os-release; echo $VERSION_ID")
    place.check(done.stdout == "13\n", f"another Debian: {done.stdout}{done.stderr}")
    systemd.check_records(place, ssh)
    systemd.check_user_session(place, person, machine)
    systemd.check_limits(place, ssh)
    machine.stop()
