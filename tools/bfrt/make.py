#!/usr/bin/env python3
"""Lays out the folder that goes on the Python path: the packages of this folder and the stubs generated from p4/.

usage: make.py SOURCE_ROOT OUT STAMP DEPFILE"""
import os
import shutil
import subprocess
import sys

PACKAGES = ("l3dml_bfrt", "bfrt_grpc")
MODULES = ("bfruntime_pb2.py",)


def copy(source, target, seen):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    seen.append(source)


def main():
    stamp, depfile = sys.argv[3:]
    root, out = map(os.path.abspath, sys.argv[1:3])
    here, p4, seen = os.path.join(root, "tools", "bfrt"), os.path.join(root, "p4"), [os.path.abspath(__file__)]
    shutil.rmtree(out, ignore_errors=True)
    for package in PACKAGES:
        for name in sorted(os.listdir(os.path.join(here, package))):
            if name.endswith(".py"):
                copy(os.path.join(here, package, name), os.path.join(out, package, name), seen)
    for module in MODULES:
        copy(os.path.join(here, module), os.path.join(out, module), seen)
    stubs = os.path.join(out, "bfrt_grpc")
    subprocess.run(["protoc", "-I" + p4, "--python_out=" + stubs, "--grpc_python_out=" + stubs,
                    "--plugin=protoc-gen-grpc_python=" + shutil.which("grpc_python_plugin"), "bfruntime.proto"], check=True)
    # `google` is a namespace package, so google/rpc may lie here and google/protobuf elsewhere.
    subprocess.run(["protoc", "-I" + p4, "--python_out=" + out, "google/rpc/status.proto", "google/rpc/code.proto"],
                   check=True)
    seen += [os.path.join(p4, name) for name in ("bfruntime.proto", "google/rpc/status.proto", "google/rpc/code.proto")]
    with open(depfile, "w") as file:
        file.write("%s: %s\n" % (stamp, " ".join(path.replace(" ", "\\ ") for path in seen)))
    open(stamp, "w").close()


if __name__ == "__main__":
    main()
