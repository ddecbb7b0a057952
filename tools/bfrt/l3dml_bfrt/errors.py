"""What went wrong: one exception per call, with one item per update that failed."""
from google.rpc import status_pb2

from bfrt_grpc import bfruntime_pb2 as pb
import grpc

DETAILS = "grpc-status-details-bin"


class UpdateError:
    """One update (or entity read) that failed: its place in the request, the code's name, the driver's words."""

    def __init__(self, index, code, message):
        self.index, self.code, self.message = index, code, message

    def __repr__(self):
        return "update %d: %s: %s" % (self.index, self.code, self.message)


class BfrtError(Exception):
    """`code` names the status (of the first failed update, if the call as a whole was understood); `updates` lists all that
    failed."""

    def __init__(self, error):
        self.updates = [UpdateError(i, code, message) for i, code, message in _failures(error)]
        self.code = self.updates[0].code if self.updates else error.code().name
        super().__init__("; ".join(map(repr, self.updates)) or "%s: %s" % (self.code, error.details()))


def code_name(number):
    return next((code.name for code in grpc.StatusCode if code.value[0] == number), str(number))


def _failures(error):
    for key, value in error.trailing_metadata() or ():
        if key != DETAILS:
            continue
        for index, detail in enumerate(status_pb2.Status.FromString(value).details):
            item = pb.Error()
            detail.Unpack(item)
            if item.canonical_code:
                yield index, code_name(item.canonical_code), item.message
