"""BfRuntime from Python: drives this switch and a Tofino alike.

    from l3dml_bfrt import Client
    with Client("127.0.0.1:50052") as switch:
        switch.table("forwarder.host6").add({"hdr.ipv6.dst_addr": "fd00::9"}, "forward", port=4, dmac="02:00:00:00:00:09")
"""
from .client import Client, tls
from .errors import BfrtError, UpdateError
from .table import Entry, Table

__all__ = ["Client", "tls", "BfrtError", "UpdateError", "Entry", "Table"]
