"""A small BfRuntime client for tests: entries of the program's tables by name, over the project's own protocol file.
Stubs are generated into a temporary folder when the module is first used."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import queue

import grpc

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..', '..'))
_stubs = tempfile.TemporaryDirectory(prefix='l3dml_stubs_')
_protos = [os.path.join(ROOT, 'p4', 'bfruntime.proto'), os.path.join(ROOT, 'p4', 'google', 'rpc', 'status.proto')]
subprocess.run(['protoc', '-I', os.path.join(ROOT, 'p4'), '--python_out', _stubs.name, '--grpc_python_out', _stubs.name,
                '--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin', _protos[0]], check=True)
sys.path.insert(0, _stubs.name)
try:
    import google.rpc.status_pb2  # noqa: F401  (installed with googleapis)
except ImportError:
    subprocess.run(['protoc', '-I', os.path.join(ROOT, 'p4'), '--python_out', _stubs.name, _protos[1]], check=True)
    import google
    google.__path__.append(os.path.join(_stubs.name, 'google'))
import bfruntime_pb2 as pb  # noqa: E402
import bfruntime_pb2_grpc  # noqa: E402


class Client:
    """Bound to the program of one device; add(table, key, action, **parameters) inserts an entry."""

    def __init__(self, address, device=0, client=1, program='l3dml'):
        self.device, self.client, self.program = device, client, program
        self.channel = grpc.insecure_channel(address)
        self.stub = bfruntime_pb2_grpc.BfRuntimeStub(self.channel)
        self.out = queue.Queue()
        self.stream = self.stub.StreamChannel(iter(self.out.get, None))
        request = pb.StreamMessageRequest(client_id=client)
        request.subscribe.device_id = device
        self.out.put(request)
        next(self.stream)
        threading.Thread(target=lambda: self._drain(), daemon=True).start()
        bind = pb.SetForwardingPipelineConfigRequest(device_id=device, client_id=client)
        bind.action = pb.SetForwardingPipelineConfigRequest.BIND
        bind.config.add().p4_name = program
        self.stub.SetForwardingPipelineConfig(bind)
        with open(os.path.join(ROOT, 'p4', 'bf-rt.json')) as file:
            self.tables = {t['name']: t for t in json.load(file)['tables']}

    def _drain(self):
        try:
            for _ in self.stream:
                pass
        except grpc.RpcError:
            pass

    def add(self, table, key, action, **parameters):
        """key: one (value, prefix length or None) per field; values are bytes, cut to the field's size."""
        info = self.tables[table]
        request = pb.WriteRequest(client_id=self.client, p4_name=self.program)
        request.target.device_id, request.target.pipe_id = self.device, 0xffff
        update = request.updates.add()
        update.type = pb.Update.INSERT
        entry = update.entity.table_entry
        entry.table_id = info['id']
        for field, (value, prefix) in zip(info['key'], key):
            item = entry.key.fields.add()
            item.field_id = field['id']
            if prefix is None:
                item.exact.value = value
            else:
                item.lpm.value, item.lpm.prefix_len = value, prefix
        spec = next(a for a in info['action_specs'] if a['name'] == action)
        entry.data.action_id = spec['id']
        for field in spec['data']:
            item = entry.data.fields.add()
            item.field_id = field['id']
            value = parameters[field['name']]
            item.stream = value if isinstance(value, bytes) else value.to_bytes((field['type']['width'] + 7) // 8, 'big')
        self.stub.Write(request)

    def close(self):
        self.out.put(None)
        self.channel.close()
