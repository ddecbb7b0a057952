"""The module names that BfRuntime clients written for a Tofino import: bfrt_grpc.bfruntime_pb2 and _grpc. A client's own
files of this package (client.py, info_parse.py) may lie in a folder of the same name elsewhere on the path."""
import pkgutil

__path__ = pkgutil.extend_path(__path__, __name__)
