"""embed.py OUT.cc FILE...: writes C++ that holds the files, for drl/env/bundle.h."""
import os
import sys


def literal(text):  # compilers limit one literal to 64 KiB, so in pieces that are joined by the language
    pieces = [text[i:i + 12000] for i in range(0, len(text), 12000)] or [""]
    return "\n".join('R"embed(%s)embed"' % piece for piece in pieces)


out, files = sys.argv[1], sys.argv[2:]
with open(out, "w") as f:
    f.write('#include "drl/env/bundle.h"\n\nnamespace l3dml::drl {\nnamespace {\n')
    f.write("constexpr BundledFile kFiles[] = {\n")
    for path in files:
        with open(path) as source:
            f.write('{"%s",\n%s},\n' % (os.path.basename(path), literal(source.read())))
    f.write("};\n}  // namespace\n\nstd::span<const BundledFile> bundled_files() { return kFiles; }\n\n")
    f.write("}  // namespace l3dml::drl\n")
