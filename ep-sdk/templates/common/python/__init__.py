"""Tells Tenon where the manifest of the provider @id@ is."""

from pathlib import Path

folder = Path(__file__).parent / "tenon/providers.d"
