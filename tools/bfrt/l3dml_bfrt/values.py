"""Python values to and from the wire. Integers and bit strings travel big-endian in exactly ceil(width / 8) bytes; they
may be given as int, bytes, or as MAC, IPv4 or IPv6 text, and are read back as int."""
import ipaddress
import re

from bfrt_grpc import bfruntime_pb2 as pb

WIDTHS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
MAC = re.compile(r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}")


def width(field):
    spec = field["type"]
    return spec["width"] if spec["type"] == "bytes" else WIDTHS.get(spec["type"], 0)


def to_int(value):
    if isinstance(value, (bytes, bytearray)):
        return int.from_bytes(value, "big")
    if isinstance(value, str):
        if MAC.fullmatch(value):
            return int(re.sub("[:-]", "", value), 16)
        return int(ipaddress.ip_address(value))
    return int(value)


def to_bytes(field, value):
    """Text fields are their own bytes; everything else is a number of the field's width."""
    if field["type"]["type"] == "string":
        return value.encode()
    bits, number = width(field), to_int(value)
    if number < 0:
        number += 1 << bits
    if number >> bits:
        raise ValueError("%s: %s does not fit into %d bits" % (field["name"], value, bits))
    return number.to_bytes((bits + 7) // 8, "big")


def from_bytes(field, data):
    kind = field["type"]["type"]
    if kind == "string":
        return data.decode()
    return int.from_bytes(data, "big", signed=kind.startswith("int"))


def key_field(field, value):
    """One field of a key. Exact: a value. Ternary: (value, mask). LPM: "10.0.0.0/8" or (value, length). Range: (low, high).
    Optional: a value. None, or leaving the field out: don't care."""
    out, match = pb.KeyField(field_id=field["id"]), field["match_type"]
    if match in ("Exact", "ATCAM"):
        out.exact.value = to_bytes(field, value)
    elif match == "Ternary":
        bits, mask = value if isinstance(value, tuple) else (value, (1 << width(field)) - 1)
        out.ternary.value, out.ternary.mask = to_bytes(field, bits), to_bytes(field, mask)
    elif match in ("LPM", "LongestPrefixMatch"):
        if isinstance(value, str):
            address, _, length = value.partition("/")
            value = address, int(length or width(field))
        out.lpm.value, out.lpm.prefix_len = to_bytes(field, value[0]), value[1]
    elif match == "Range":
        out.range.low, out.range.high = to_bytes(field, value[0]), to_bytes(field, value[1])
    else:
        out.optional.value, out.optional.is_valid = to_bytes(field, value), True
    return out


def from_key_field(field, item):
    kind = item.WhichOneof("match_type")
    if kind == "exact":
        return from_bytes(field, item.exact.value)
    if kind == "ternary":
        return from_bytes(field, item.ternary.value), from_bytes(field, item.ternary.mask)
    if kind == "lpm":
        return from_bytes(field, item.lpm.value), item.lpm.prefix_len
    if kind == "range":
        return from_bytes(field, item.range.low), from_bytes(field, item.range.high)
    return from_bytes(field, item.optional.value) if item.optional.is_valid else None


def data_field(field, value):
    out = pb.DataField(field_id=field["id"])
    kind = field["type"]["type"] if "type" in field else "container"
    if kind == "container":
        members = {name(m): m for m in map(singleton, field["container"])}
        for item in value:
            box = out.container_arr_val.container.add()
            box.val.extend(data_field(members[key], inner) for key, inner in item.items())
    elif field["repeated"]:
        lists = {"bool": out.bool_arr_val, "string": out.str_arr_val}
        target = lists.get(kind, out.int_arr_val)
        target.SetInParent()  # an empty list is a value as well
        target.val.extend(value)
    elif kind == "bool":
        out.bool_val = value
    elif kind == "string":
        out.str_val = value
    elif kind == "float":
        out.float_val = value
    else:
        out.stream = to_bytes(field, value)
    return out


def from_data_field(field, item):
    kind = item.WhichOneof("value")
    if kind == "stream":
        return from_bytes(field, item.stream)
    if kind in ("int_arr_val", "bool_arr_val", "str_arr_val"):
        return list(getattr(item, kind).val)
    if kind == "container_arr_val":
        members = {m["id"]: m for m in map(singleton, field["container"])}
        return [{name(members[v.field_id]): from_data_field(members[v.field_id], v) for v in box.val}
                for box in item.container_arr_val.container]
    return getattr(item, kind) if kind else None


def singleton(item):
    return item.get("singleton", item)


def name(field):
    return field["name"]
