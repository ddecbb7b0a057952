"""One table by name: entries in, entries out. Names of tables, actions and fields may be any dotted suffix that is
unambiguous, as with other BfRuntime clients."""
from dataclasses import dataclass, field as dataclass_field

from bfrt_grpc import bfruntime_pb2 as pb

from . import values

U = pb.Update


@dataclass
class Entry:
    key: dict                     # by full field name
    action: str = None            # full name, None: the table has no actions
    data: dict = dataclass_field(default_factory=dict)  # by full field name; registers: a list, one value per pipe
    is_default: bool = False


def pick(kind, items, wanted, where):
    """The item of that name, or the only one whose name ends with .wanted."""
    found = [i for i in items if i["name"] == wanted] or [i for i in items if i["name"].endswith("." + wanted)]
    if len(found) != 1:
        known = ", ".join(i["name"] for i in (found or items)[:20])
        raise KeyError("%s: %s %s '%s' (%s%s)" % (where, "more than one" if found else "no", kind, wanted, known,
                                                  ", ..." if len(found or items) > 20 else ""))
    return found[0]


class Table:
    def __init__(self, client, info):
        self.client, self.info, self.name, self.id = client, info, info["name"], info["id"]
        self.fields = [f for d in info["data"] for f in (d["oneof"] if "oneof" in d else [d["singleton"]])]

    # --- updates: what add() and friends send; collect several and hand them to Client.write() ---
    def insert(self, key, action=None, data=None, **params):
        return self._update(U.INSERT, key, action, {**(data or {}), **params})

    def modify_update(self, key, action=None, data=None, **params):
        update = self._update(U.MODIFY, key, action, {**(data or {}), **params})
        update.entity.table_entry.table_flags.reset_ttl = update.entity.table_entry.table_flags.reset_stats = True
        return update

    def delete_update(self, key):
        return self._update(U.DELETE, key)

    def members_update(self, key, remove, data):
        update = self._update(U.MODIFY_INC, key, None, data)
        update.entity.table_entry.table_flags.mod_del = remove
        return update

    # --- calls ---
    def add(self, key, action=None, data=None, **params):
        self.client.write([self.insert(key, action, data, **params)])

    def modify(self, key, action=None, data=None, **params):
        self.client.write([self.modify_update(key, action, data, **params)])

    def add_or_modify(self, key, action=None, data=None, **params):
        self.client.write([self._update(U.INSERT_OR_MODIFY, key, action, {**(data or {}), **params})])

    def delete(self, key):
        self.client.write([self.delete_update(key)])

    def add_members(self, key, data):
        self.client.write([self.members_update(key, False, data)])

    def remove_members(self, key, data):
        self.client.write([self.members_update(key, True, data)])

    def clear(self):
        self.client.write([self._update(U.DELETE)])

    def set_default(self, action=None, data=None, **params):
        self.client.write([self._update(U.MODIFY, None, action, {**(data or {}), **params}, default=True)])

    def reset_default(self):
        self.client.write([self._update(U.DELETE, default=True)])

    def get(self, key, from_hw=True, fields=()):
        return self._read(key, from_hw=from_hw, fields=fields)[0]

    def entries(self, from_hw=True, action=None, key_only=False):
        """All entries, without the default one."""
        return [e for e in self._read(None, from_hw, action, key_only=key_only) if not e.is_default]

    def default(self, from_hw=True):
        found = self._read(None, from_hw, default=True)
        return found[0] if found else None

    def usage(self):
        entity = pb.Entity()
        entity.table_usage.table_id = self.id
        return self.client.read([entity])[0].table_usage.usage

    def handle(self, key):
        entity = pb.Entity()
        entity.handle.table_id = self.id
        self._fill_key(entity.handle.key, key)
        return self.client.read([entity])[0].handle.handle_id

    def operation(self, name):
        update = U(type=U.INSERT)
        update.entity.table_operation.table_id = self.id
        update.entity.table_operation.table_operations_type = name
        self.client.write([update])

    def set_attribute(self, **attribute):
        """For example set_attribute(port_status_notify={"enable": True})."""
        update = U(type=U.INSERT)
        update.entity.table_attribute.CopyFrom(pb.TableAttribute(table_id=self.id, **attribute))
        self.client.write([update])

    def get_attribute(self, name):
        entity = pb.Entity()
        entity.table_attribute.table_id = self.id
        getattr(entity.table_attribute, name).SetInParent()
        return getattr(self.client.read([entity])[0].table_attribute, name)

    # --- messages ---
    def _fill_key(self, out, key):
        for wanted, value in key.items():
            if value is not None:
                out.fields.append(values.key_field(pick("key field", self.info["key"], wanted, self.name), value))

    def _fill_data(self, out, action, data):
        fields = self.fields
        if action is not None:
            spec = pick("action", self.info.get("action_specs", []), action, self.name)
            out.action_id = spec["id"]
            fields = spec["data"] + fields
        for wanted, value in data.items():
            out.fields.append(values.data_field(pick("data field", fields, wanted, self.name), value))

    def _update(self, kind, key=None, action=None, data=None, default=False):
        update = U(type=kind)
        entry = update.entity.table_entry
        entry.table_id, entry.is_default_entry = self.id, default
        if key is not None:
            entry.key.SetInParent()
            self._fill_key(entry.key, key)
        if action is not None or data:
            self._fill_data(entry.data, action, data or {})
        return update

    def _read(self, key, from_hw=True, action=None, default=False, key_only=False, fields=()):
        entity = pb.Entity()
        entry = entity.table_entry
        entry.table_id, entry.is_default_entry = self.id, default
        entry.table_flags.from_hw, entry.table_flags.key_only = from_hw, key_only
        if key is not None:
            self._fill_key(entry.key, key)
            entry.key.SetInParent()
        if action is not None:
            self._fill_data(entry.data, action, {})
        for wanted in fields:
            entry.data.fields.add().field_id = pick("data field", self.fields, wanted, self.name)["id"]
        return [self.decode(item.table_entry) for item in self.client.read([entity])]

    def decode(self, entry):
        """A TableEntry of the wire as an Entry."""
        keys = {k["id"]: k for k in self.info["key"]}
        out = Entry({}, is_default=entry.is_default_entry)
        for item in entry.key.fields:
            out.key[keys[item.field_id]["name"]] = values.from_key_field(keys[item.field_id], item)
        fields = {f["id"]: f for f in self.fields}
        for spec in self.info.get("action_specs", []):
            if spec["id"] == entry.data.action_id:
                out.action = spec["name"]
                fields.update({f["id"]: f for f in spec["data"]})
        for item in entry.data.fields:
            spec = fields[item.field_id]
            value = values.from_data_field(spec, item)
            if any(a.get("value") == "register_data" for a in spec.get("annotations", [])):
                out.data.setdefault(spec["name"], []).append(value)
            else:
                out.data[spec["name"]] = value
        return out
