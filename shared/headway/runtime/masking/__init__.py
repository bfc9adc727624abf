"""Secrets out of text: in a stream of bytes, however it is cut, and in single texts.

A secret is also found where it was JSON-escaped, quoted by Python or for a URL, or is a part of
what was encoded as base64 (`forms`).  The time is linear in the text, whatever the secrets: an
Aho-Corasick automaton finds the first bytes of each form (`index`), and a form that goes on is
followed from there without looking at any byte twice (`pursuit`).
"""

from headway.runtime.masking.forms import SHORTEST_SECRET
from headway.runtime.masking.masker import MASK, Masker

__all__ = ["MASK", "SHORTEST_SECRET", "Masker"]
