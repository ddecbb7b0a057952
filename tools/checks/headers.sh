#!/usr/bin/env bash
# Every header compiles alone. Headers that need gRPC, DPDK or torch take their flags from pkg-config.
set -uo pipefail
cd "$(dirname "$0")/../.."
flags=(-std=c++20 -fsyntax-only -Wall -Wextra -I. -Ibuild -Ibuild/p4 -Ibuild/p4/bfrt -Ibuild/control/api -isystem /usr/include/torch/csrc/api/include)
read -ra more < <(pkg-config --cflags libdpdk grpc++ protobuf yaml-cpp fmt)
failed=0 count=0
for header in $(git ls-files '*.h' | grep -v '\.in$'); do
  count=$((count + 1))
  if ! ccache g++ "${flags[@]}" "${more[@]}" -x c++ "$header" -o /dev/null 2> /tmp/header.$$; then
    head -n 3 /tmp/header.$$ >&2
    failed=$((failed + 1))
  fi
done
rm -f /tmp/header.$$
echo "$count headers, $failed do not compile alone"
[[ $failed -eq 0 ]]
