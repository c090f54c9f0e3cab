"""Folders of `.msg` files, like PX4's."""

from px4lockstep.px4.uorb.shipped import shipped_definitions


def write_messages(folder, versioned=("VehicleStatus",), changed=()):
    """Write all built-in messages as `.msg` files, some with a line replaced."""
    (folder / "versioned").mkdir(parents=True)
    for name, definition in shipped_definitions().items():
        lines = [f"{field}\t# a comment" for field in definition.fields]
        lines[1:1] = [f"uint8 {constant}={value}" for constant, value in definition.constants.items()]
        text = "\n".join(lines)
        for old, new in changed:
            text = text.replace(old, new)
        (folder / "versioned" / f"{name}.msg" if name in versioned else folder / f"{name}.msg").write_text(text)
    return folder
