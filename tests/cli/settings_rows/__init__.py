"""The rows of run_settings.py: for each key and variable two values, and what each does. Each module has those of its part of
the config, which it registers."""

from settings_rows import discovery, selection, running, limits, variables  # noqa: F401
from settings_rows.bench import Bench
from settings_rows.refused import REFUSED, refusal
from settings_rows.registry import KEYS, VARIABLES

__all__ = ["KEYS", "VARIABLES", "REFUSED", "Bench", "refusal"]
