"""The documents of a release, read by the tools of those who wrote the formats."""

import json
import os
import re
import subprocess
import sys

import pytest

from site_setup import PROJECT

WORK = os.path.join(PROJECT, "build", "release-check")
SPDX, VEX = os.path.join(WORK, "venv", "bin", "pyspdxtools"), os.path.join(WORK, "vex")


def written(script, folder, version):
    """What the script says of the archives of build/cross. The sum of the source is that of an empty file."""
    for name in (f"wrenssh-{version}.tar.xz", f"wrensshd-{version}-x86_64.tar.xz"):
        with open(folder / name, "wb") as file:
            if "x86_64" in name:
                with open(os.path.join(PROJECT, "build/cross", name), "rb") as archive:
                    file.write(archive.read())
    done = subprocess.run(["sh", os.path.join(PROJECT, "packaging", script), folder, PROJECT, "1790000000"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def version():
    with open(os.path.join(PROJECT, "meson.build"), encoding="utf-8") as file:
        return re.search(r"version: '([^']+)'", file.read())[1]


def judged(tool, path, text, *words):
    if not os.path.exists(tool):
        pytest.skip(f"{os.path.basename(tool)} could not be had")
    path.write_text(text)
    return subprocess.run([tool, *words], capture_output=True, text=True, check=False)


def test_spdx(tmp_path, version):
    """Scanners could not read the bill of materials, or would misread it."""
    text = written("spdx.sh", tmp_path, version)
    path = tmp_path / "a.spdx"

    def judge(content):
        return judged(SPDX, path, content, "-i", str(path))
    done = judge(text)
    assert done.returncode == 0, done.stdout + done.stderr
    for good, bad in (("PackageLicenseDeclared: ISC", "PackageLicenseDeclared: ISK"), (" STATIC_LINK SPDXRef-musl", " STATIC_LINK SPDXRef-mosl"),
                      ("pkg:deb/debian/musl@", "musl "), ("PackageDownloadLocation: NOASSERTION\n", "")):
        assert good in text
        assert judge(text.replace(good, bad, 1)).returncode != 0, f"the tool does not mind {bad!r}"


JUDGE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(error and repr(error))
"""


def test_cyclonedx(tmp_path, version):
    """Other scanners could not read the other bill."""
    pytest.importorskip("cyclonedx.validation.json")
    text = written("cyclonedx.sh", tmp_path, version)
    path = tmp_path / "a.cdx.json"

    def judge(content):
        return judged(sys.executable, path, content, "-c", JUDGE, str(path))
    done = judge(text)
    assert done.returncode == 0, done.stderr
    for good, bad in (('"type": "library"', '"type": "lib"'), ('"alg": "SHA-256"', '"alg": "SHA256"'), ('"specVersion": "1.6"', '"specVersion": 1.6'),
                      ('"name": "musl", ', ""), ("urn:uuid:", "uuid:")):
        assert good in text
        assert judge(text.replace(good, bad, 1)).returncode != 0, f"the schema does not mind {bad!r}"


def test_openvex(tmp_path, version):
    """Scanners would report holes that the programs do not have."""
    text = written("vex.sh", tmp_path, version)
    with open(os.path.join(PROJECT, "packaging/holes"), encoding="ascii") as file:
        holes = re.findall(r"^(CVE-\S+)", file.read(), re.M)
    path = tmp_path / "a.openvex.json"

    def judge(content):
        return judged(VEX, path, content, str(path), *holes)
    done = judge(text)
    assert done.returncode == 0, done.stderr
    products = [(product["@id"], part["@id"]) for statement in json.loads(text)["statements"]
                for product in statement["products"] for part in product["subcomponents"]]
    assert done.stdout.splitlines() == [" ".join([hole, *product, "not_affected"]) for hole, product in zip(holes, products)]
    for good, bad in (("vulnerable_code_not_present", "vulnerable_code_absent"), ('"statements"', '"statement"'),
                      ("not_affected", "unaffected"), (holes[0], "CVE-1")):
        assert judge(text.replace(good, bad)).returncode != 0, f"the library does not mind {bad}"
