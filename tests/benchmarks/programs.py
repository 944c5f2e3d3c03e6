"""The programs in benchmarks/, which is no package, in this process."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from unittest.mock import patch

FOLDER = Path(__file__).parents[2] / "benchmarks"


def load_program(name: str) -> Any:
    """The program *name*, imported as when it is run: from its folder, where it finds others."""
    spec = spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    before = {*sys.modules}
    with patch.object(sys, "path", [str(FOLDER), *sys.path]):
        sys.modules[spec.name] = module  # dataclasses look their module up there
        spec.loader.exec_module(module)
    for other in {*sys.modules} - before - {spec.name}:
        if Path(getattr(sys.modules[other], "__file__", None) or "/").parent == FOLDER:
            del sys.modules[other]
    return module


def printed(name: str, *arguments: str) -> str:
    """What the program *name* prints."""
    out = io.StringIO()
    with patch.object(sys, "argv", [f"{name}.py", *arguments]), redirect_stdout(out):
        load_program(name).main()
    return out.getvalue()
