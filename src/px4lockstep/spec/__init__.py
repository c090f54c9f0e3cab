"""One file in, one flight out.

`load.load_spec` reads an aircraft file into a `spec.Spec`, `build.build` makes a flight of it, `toml_text.to_toml`
writes it completely, `json_schema.json_schema` describes the layout to editors, `overrides.parse_override` reads
`key=value`.
"""
