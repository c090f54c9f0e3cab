"""Write ULog files, as PX4's logger does (https://docs.px4.io/main/en/dev_log/ulog_file_format)."""

import struct

MAGIC = b"ULog\x01\x12\x35\x01"
CODES = {"float": "f", "double": "d", "uint8_t": "B", "bool": "?", "uint16_t": "H", "int32_t": "i", "uint64_t": "Q"}
CODES |= {"uint32_t": "I", "int8_t": "b", "int16_t": "h", "int64_t": "q", "char": "c"}


class Writer:
    """A ULog file that is being written. All topics, information and parameters come before the first data."""

    def __init__(self, file, start_us, flags=b"\0" * 40):
        self.file, self._packers, self._subscriptions = file, {}, {}
        self.raw(MAGIC + struct.pack("<Q", start_us))
        self.message("B", flags)

    def raw(self, data):
        self.file.write(data)

    def message(self, kind, body):
        self.raw(struct.pack("<HB", len(body), ord(kind)) + body)

    def format(self, name, fields):
        """Define a message: types, counts and names of the fields after the timestamp."""
        parts = [("uint64_t", 1, "timestamp"), *fields]
        text = "".join(f"{kind}[{count}] {field};" if count > 1 else f"{kind} {field};" for kind, count, field in parts)
        self.message("F", f"{name}:{text}".encode())
        self._packers[name] = struct.Struct("<Q" + "".join(f"{count}{CODES[kind]}" for kind, count, _ in fields))

    def topic(self, name, fields, instance=0):
        """Define a message, unless it is known, and note that it will be logged."""
        if name not in self._packers:
            self.format(name, fields)
        self._subscriptions[name, instance] = len(self._subscriptions)

    def start(self):
        """End the definitions."""
        for (name, instance), number in self._subscriptions.items():
            self.message("A", struct.pack("<BH", instance, number) + name.encode())

    def write(self, name, time_us, values, instance=0):
        """Write a message of a topic."""
        body = self._packers[name].pack(time_us, *values)
        self.message("D", struct.pack("<H", self._subscriptions[name, instance]) + body)

    def info(self, name, text):
        key, value = f"char[{len(text)}] {name}".encode(), text.encode()
        self.message("I", bytes([len(key)]) + key + value)

    def parameter(self, name, value):
        kind, code = ("int32_t", "<i") if isinstance(value, int) else ("float", "<f")
        key = f"{kind} {name}".encode()
        self.message("P", bytes([len(key)]) + key + struct.pack(code, value))

    def text(self, time_us, level, text):
        self.message("L", bytes([ord("0") + level]) + struct.pack("<Q", time_us) + text.encode())

    def dropout(self, ms):
        self.message("O", struct.pack("<H", ms))

    def sync(self):
        self.message("S", b"\x2f\x73\x13\x20\x25\x0c\xbb\x12")
