"""A session with one device: subscribes, binds to its program, reads and writes tables, hears notifications.

Threads: one reads the stream; everything else runs on the caller's. Failure: BfrtError, with one item per failed update."""
import json
import queue
import threading

from bfrt_grpc import bfruntime_pb2 as pb
from bfrt_grpc import bfruntime_pb2_grpc as rpc
import grpc

from .errors import BfrtError
from .table import Table, pick

ALL_PIPES = 0xffff
LIMIT = 1 << 30  # bytes of a message, as other clients allow


def tls(authority, certificate, key):
    """Credentials for Client(credentials=...) from three PEM files."""
    read = [open(path, "rb").read() for path in (authority, key, certificate)]
    return grpc.ssl_channel_credentials(*read)


class Client:
    """`program` None: the device's own (the first that it names). `credentials`: from tls(); None: plaintext."""

    def __init__(self, address, program=None, client_id=0, device=0, pipe=ALL_PIPES, credentials=None, timeout=10.0,
                 bind=True, **notifications):
        self.client_id, self.device, self.timeout = client_id, device, timeout
        self.target = pb.TargetDevice(device_id=device, pipe_id=pipe, direction=0xff, prsr_id=0xff)
        options = [("grpc.max_receive_message_length", LIMIT), ("grpc.max_send_message_length", LIMIT)]
        self.channel = (grpc.secure_channel(address, credentials, options) if credentials else
                        grpc.insecure_channel(address, options))
        self.stub = rpc.BfRuntimeStub(self.channel)
        self.messages = queue.Queue()  # of the stream, in order; an RpcError or None ends it
        self._requests = queue.Queue()
        try:
            self._subscribe(notifications)
            self._load(program)
            if bind:
                self.bind()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the stream, and with it the claim on the program."""
        self._requests.put(None)
        if getattr(self, "_reader", None):
            self._reader.join(self.timeout)
        self.channel.close()

    # --- session ---
    def _subscribe(self, wanted):
        notifications = pb.Subscribe.Notifications(**{"enable_%s_notifications" % k: v for k, v in wanted.items()})
        request = pb.StreamMessageRequest(client_id=self.client_id)
        request.subscribe.device_id = self.device
        request.subscribe.notifications.CopyFrom(notifications)
        self._requests.put(request)
        stream = self.stub.StreamChannel(iter(self._requests.get, None))
        self._reader = threading.Thread(target=self._read_stream, args=(stream,), daemon=True)
        self._reader.start()
        self.notification("subscribe")

    def _read_stream(self, stream):
        try:
            for message in stream:
                self.messages.put(message)
            self.messages.put(None)
        except grpc.RpcError as error:
            self.messages.put(error)

    def _load(self, program):
        request = pb.GetForwardingPipelineConfigRequest(device_id=self.device, client_id=self.client_id)
        answer = self._call(self.stub.GetForwardingPipelineConfig, request)
        configs = [c for c in answer.config if program in (None, c.p4_name)]
        if not configs:
            raise KeyError("device %d does not run program %s" % (self.device, program))
        self.program, self.config, self.fixed_info = configs[0].p4_name, configs[0], answer.non_p4_config.bfruntime_info
        self.info = json.loads(configs[0].bfruntime_info)
        self._tables = self.info["tables"] + json.loads(self.fixed_info)["tables"]

    def bind(self):
        request = self._pipeline(pb.SetForwardingPipelineConfigRequest.BIND)
        request.config.add().p4_name = self.program
        self._call(self.stub.SetForwardingPipelineConfig, request)

    def reload(self):
        """Loads the program again: every table is as after start. Returns when the device has finished."""
        request = self._pipeline(pb.SetForwardingPipelineConfigRequest.VERIFY_AND_WARM_INIT_BEGIN_AND_END)
        request.config.append(self.config)
        self._call(self.stub.SetForwardingPipelineConfig, request)
        finished = pb.WARM_INIT_FINISHED
        while self.notification("set_forwarding_pipeline_config_response") != pb.SetForwardingPipelineConfigResponse(
                set_forwarding_pipeline_config_response_type=finished):
            pass

    def _pipeline(self, action):
        return pb.SetForwardingPipelineConfigRequest(device_id=self.device, client_id=self.client_id, action=action)

    # --- tables ---
    def table(self, name):
        return Table(self, pick("table", self._tables, name, "device %d" % self.device))

    def table_names(self):
        return [t["name"] for t in self._tables]

    def write(self, updates, atomicity=pb.WriteRequest.CONTINUE_ON_ERROR, metadata=None):
        """All updates in one request, in order; returns the WriteResponse."""
        request = pb.WriteRequest(target=self.target, client_id=self.client_id, updates=updates, atomicity=atomicity)
        return self._call(self.stub.Write, request, metadata)

    def read(self, entities):
        request = pb.ReadRequest(target=self.target, client_id=self.client_id, entities=entities)
        return self._call(lambda *a, **k: [e for r in self.stub.Read(*a, **k) for e in r.entities], request)

    def _call(self, method, request, metadata=None):
        try:
            return method(request, timeout=self.timeout, metadata=metadata)
        except grpc.RpcError as error:
            raise BfrtError(error) from None

    # --- the stream ---
    def notification(self, kind, timeout=None):
        """The next message of this kind (subscribe, digest, idle_timeout_notification, port_status_change_notification, ...);
        others before it are dropped. TimeoutError when none comes."""
        while True:
            try:
                message = self.messages.get(timeout=self.timeout if timeout is None else timeout)
            except queue.Empty:
                raise TimeoutError("no %s came" % kind) from None
            if isinstance(message, grpc.RpcError):
                raise BfrtError(message)
            if message is None:
                raise ConnectionError("the device ended the stream")
            if message.WhichOneof("update") == kind:
                return getattr(message, kind)
