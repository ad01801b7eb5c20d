"""python3 -m vm: see tests/vm/run.sh, which sees to what this needs."""

import argparse
import glob
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
import traceback

from .place import BUILD, TOP, Failed, Place, Progress, Skipped

FOLDER = os.path.join(TOP, "tests", "vm", "machines")


def load(name):
    spec = importlib.util.spec_from_file_location("machine_" + name.replace("-", "_"),
                                                  os.path.join(FOLDER, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(names):
    parser = argparse.ArgumentParser(prog="run.sh", description="Boots machines and looks at wrensshd in them.")
    parser.add_argument("--all", action="store_true", help="the long ones, too")
    parser.add_argument("--list", action="store_true", help="name the machines and end")
    parser.add_argument("--no-build", action="store_true", help="take the binaries as they lie in build/cross")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    strange = [name for name in options.names if name not in names]
    if strange:
        parser.error(f"no machine is called {strange[0]}: they are {', '.join(names)}")
    return options


def why_not(module):
    """What keeps a machine from being tried at all, or None."""
    if os.getuid() != 0:
        return "needs root, for file systems of root's"
    missing = [program for program in module.PROGRAMS if not shutil.which(program)]
    return f"no {', '.join(missing)} here" if missing else None


def build(architectures):
    """The release binaries of this tree; true if they are there."""
    log = os.path.join(BUILD, "cross.log")
    with open(log, "wb") as file:
        done = subprocess.run(["sh", os.path.join(TOP, "packaging/cross/build.sh"), "--skip-tests", *architectures],
                              stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False)
    if done.returncode != 0:
        print(f"run.sh: no release binaries of {', '.join(architectures)}: see {os.path.relpath(log, TOP)}")
    return done.returncode == 0


def try_one(module, place):
    """passed, failed or skipped, and the reason, or what it found."""
    try:
        return "passed", module.run(place)
    except Skipped as why:
        return "skipped", str(why)
    except (Failed, AssertionError) as why:
        return "FAILED", f"{why}\n{place.what_is_left()}"
    except Exception:  # the others are tried all the same
        return "FAILED", f"{traceback.format_exc()}\n{place.what_is_left()}"
    finally:
        place.close()


def main():
    names = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(FOLDER, "*.py")))
    options = arguments(names)
    modules = {name: load(name) for name in options.names or names}
    if options.list:
        for name, module in modules.items():
            print(f"{name}{' (--all)' if module.LONG else ''}: {module.__doc__.splitlines()[0]}")
        return 0
    verdicts = {}
    chosen = []
    for name, module in modules.items():
        reason = why_not(module)
        if module.LONG and not options.all and name not in options.names:
            reason = "takes long: --all"
        if reason:
            verdicts[name] = "skipped"
            print(f"{name}: skipped, {reason}")
        else:
            chosen.append(name)
    architectures = sorted({arch for name in chosen for arch in modules[name].ARCHITECTURES})
    progress = Progress(len(chosen))
    if architectures and not options.no_build:
        progress.say("building " + ", ".join(architectures))
        if not build(architectures):
            return 1
    for name in chosen:
        begin = time.monotonic()
        progress.next(name)
        verdicts[name], reason = try_one(modules[name], Place(name, progress))
        progress.clear()
        print(f"{name}: {verdicts[name]}, {time.monotonic() - begin:.0f} s" + (f": {reason}" if reason else ""),
              flush=True)
    counts = [sum(verdict == word for verdict in verdicts.values()) for word in ("passed", "FAILED", "skipped")]
    print("machines: {} passed, {} failed, {} skipped".format(*counts))
    if "WREN_COUNTS" in os.environ:  # of tests/run.sh
        with open(os.environ["WREN_COUNTS"], "w", encoding="ascii") as file:
            json.dump(dict(zip(("passed", "failed", "skipped"), counts)), file)
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
