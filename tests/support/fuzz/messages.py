"""Folders of `.msg` files."""

import functools

from fuzz.mutations import TOKENS, mutated_bytes
from px4lockstep.px4.uorb.shipped import shipped_definitions
from px4lockstep.px4.uorb.sources import LayoutSources

NAMES = ("VehicleStatus", "BatteryStatus", "ActuatorMotors", "VehicleCommand", "MissionResult")
LINES = (
    *("uint64 timestamp", "float32[4] q", "uint8[255] a", "char[0] b", "int8[-1] c", "uint8[99999999] d", "bool e"),
    *("VehicleStatus nested", "px4/BatteryStatus[4] cells", "Nobody x", "uint8 A = 0x10", "uint8 A=", "uint8", "= 1"),
    *("# TOPICS a b c", "# TOPICS vehicle_status", "float64 timestamp", "uint64 timestamp # again", "Äx y", "uint8 _x"),
)


@functools.cache
def texts():
    """Return some built-in messages as files."""
    return {name: "\n".join(map(str, shipped_definitions()[name].fields)).encode() for name in NAMES}


def write(folder, rng):
    """Write a folder of messages."""
    own = dict(texts())
    if rng is not None:
        for _ in range(rng.choice((1, 1, 2, 4))):
            name, way = rng.choice(tuple(own)), rng.random()
            lines = own[name].split(b"\n")
            if way < 0.5:
                lines.insert(rng.randrange(len(lines) + 1), rng.choice(LINES).encode())
            elif way < 0.6:
                lines.pop(rng.randrange(len(lines)))
            elif way < 0.75:  # one in another, perhaps in a circle
                lines.append(f"{rng.choice(NAMES)}[{rng.choice((1, 2, 9, 100_000))}] inner{rng.randrange(9)}".encode())
            elif way < 0.85:
                lines = [mutated_bytes(own[name], rng, tokens=(*TOKENS, b"uint8[", b"]"))]
            else:
                own["Copy" + name] = own[name]
            own[name] = b"\n".join(lines)
    for name, data in own.items():
        place = folder / "msg" / "versioned" if rng is not None and rng.random() < 0.1 else folder / "msg"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.msg").write_bytes(data)


def use(folder):
    """Read the folder, and compute the layouts of all its topics."""
    sources = LayoutSources(folder / "msg")
    for topic in sources.topics():
        sources.layout(topic).zeros()
