#!/bin/sh
# A weak symbol in an object compiled for AVX-512 may become everybody's copy: none may exist (STYLE section 5).
for library in "$@"; do
  weak=$(nm -C "$library" | grep -E ' [WVu] ')
  [ -z "$weak" ] || { echo "$library exports weak symbols:"; echo "$weak"; exit 1; }
  nm "$library" | grep -q ' T \| [RD] ' || { echo "$library defines nothing: is it the right file?"; exit 1; }
done
