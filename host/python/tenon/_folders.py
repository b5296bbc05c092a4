"""Where the parts of the package lie."""

from pathlib import Path

PACKAGE = Path(__file__).parent
COMMANDS = PACKAGE / "bin"
