"""The fixtures and markers of tests/system, for the situations."""

import importlib.util
import os

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "system", "conftest.py")
_SPEC = importlib.util.spec_from_file_location("system_conftest", _PATH)
_SYSTEM = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_SYSTEM)
globals().update({name: value for name, value in vars(_SYSTEM).items() if not name.startswith("__")})
