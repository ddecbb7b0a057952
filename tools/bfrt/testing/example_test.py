#!/usr/bin/python3
"""The example of the README, as it stands there. Needs root; else exit 77 (skipped)."""
import os
import re
import subprocess
import sys

SOURCE = os.environ["L3DML_SOURCE"]


def main():
    if os.geteuid() != 0:
        return 77
    with open(os.path.join(SOURCE, "README.md")) as file:
        example = re.search(r"```sh\n(tools/bfrt/two_hosts up.*?)```", file.read(), re.S).group(1)
    try:
        result = subprocess.run(["bash", "-ec", example], cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=100)
    finally:
        subprocess.run([os.path.join(SOURCE, "tools/bfrt/two_hosts"), "down"], check=True)
    print(result.stdout)
    return result.returncode or " 0% packet loss" not in result.stdout


if __name__ == "__main__":
    sys.exit(main())
