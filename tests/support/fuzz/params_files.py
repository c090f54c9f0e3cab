"""Parameter files (`.params`), loaded, and some flown."""

from vehicle_files import line_of, vehicle_text

from fuzz import expect
from fuzz.flights import fly_briefly
from fuzz.mutations import ODD_NUMBERS, mutated_bytes
from px4lockstep.px4.params_files import format_params, load_params, parse_params
from px4lockstep.spec.load import load_spec

FILE, FLOWN = "vehicle.params", "flown"
WORDS = ("", "0", "1", "255", "256", "-1", "6", "9", "2", "MPC_XY_P", "mpc_xy_p", "CA_METHOD", "nan", "1e999", "#")


def mutated_lines(rng):
    """Return lines with columns changed, omitted, repeated or joined."""
    lines = [line_of("MPC_XY_CRUISE", 4.0), *rng.sample(vehicle_text().splitlines(), rng.choice((1, 5, 40)))]
    for _ in range(rng.choice((1, 1, 2, 5))):
        number = rng.randrange(len(lines))
        words, way = lines[number].split("\t"), rng.random()
        if way < 0.4:
            words[rng.randrange(len(words))] = rng.choice((*WORDS, *map(str, ODD_NUMBERS)))
        elif way < 0.6:
            lines.insert(number, lines[number])
        elif way < 0.7:
            words.append(rng.choice(WORDS))
        elif way < 0.8:
            del words[rng.randrange(len(words))]
        elif len(words) == 5:
            words[3] = rng.choice(("1e38", "-0", "+1", "1.", ".5", "1" * 5_000, "0x10", "1_0", "٣"))
        lines[number] = rng.choice(("\t", "\t", " ", " \t ")).join(words)
    return rng.choice(("\n", "\n", "\r\n", "\r", "\x85")).join(lines).encode()


def write(folder, rng):
    """Write a file."""
    data = vehicle_text().encode() if rng is None else mutated_lines(rng)
    if rng is not None and rng.random() < 0.3:
        data = mutated_bytes(data, rng)
    (folder / FILE).write_bytes(data)
    if rng is None or rng.random() < 0.05:
        (folder / FLOWN).touch()


def use(folder):
    """Load it, and write and read it again; fly it for three seconds if requested."""
    found = load_params(folder / FILE)
    again = parse_params(format_params(found.values), "again")
    expect(dict(again.values) == dict(found.values), "what is written is not what was read")
    if (folder / FLOWN).exists():
        fly_briefly(load_spec("iris", {"autopilot.params_file": str(folder / FILE)}), 3.0)
