"""Write the reference of aircraft files into docs/spec.md again: `.venv/bin/python tools/spec_reference.py`."""

from pathlib import Path

from px4lockstep.spec.reference import reference

PAGE = Path(__file__).resolve().parents[1] / "docs" / "spec.md"
BEGIN, END = "<!-- reference: begin -->\n", "<!-- reference: end -->\n"

text = PAGE.read_text("utf-8")
head, rest = text.split(BEGIN)
PAGE.write_text(head + BEGIN + "\n" + reference() + "\n" + END + rest.split(END)[1], "utf-8")
