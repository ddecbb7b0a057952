"""The generated bfruntime_pb2_grpc imports its messages by this name."""
import sys

from bfrt_grpc import bfruntime_pb2

sys.modules[__name__] = bfruntime_pb2
