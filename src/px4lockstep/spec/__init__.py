"""Spec files: load, check, build a flight, write.

`load.load_spec` reads a spec file into a `spec.Spec`, `build.build` builds a flight from it, `toml_text.to_toml` writes
it with all defaults, `json_schema.json_schema` describes the layout for editors, and `overrides.parse_override` parses
`key=value`.
"""
