"""pcapng files with one interface per device port ("port N") and nanosecond times: the captures of golden cases."""

import struct


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def to_bytes(packets):
    """packets: [(port, time in ns, frame)]."""
    data = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    ports = sorted({port for port, _, _ in packets})
    for port in ports:
        options = option(2, f"port {port}".encode()) + option(9, b"\x09") + option(0, b"")
        data += block(1, struct.pack("<HHI", 1, 0, 0) + options)
    for port, time, frame in packets:
        head = struct.pack("<IIIII", ports.index(port), time >> 32, time & 0xFFFFFFFF, len(frame), len(frame))
        data += block(6, head + frame)
    return data


def from_bytes(data):
    packets, ports, at = [], [], 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        body = data[at + 8:at + size - 4]
        if kind == 1:
            length = struct.unpack_from("<H", body, 10)[0]
            ports.append(int(body[12:12 + length].split()[1]))
        elif kind == 6:
            interface, high, low, kept, _ = struct.unpack_from("<IIIII", body)
            packets.append((ports[interface], high << 32 | low, body[20:20 + kept]))
        at += size
    return packets
