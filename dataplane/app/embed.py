"""Turns a file into a C++ string: embed.py INPUT OUTPUT NAME. In pieces, since compilers limit one literal."""
import sys

source, target, name = sys.argv[1:]
data = open(source, 'rb').read()
pieces = []
for at in range(0, len(data), 60):
    piece = data[at:at + 60]
    pieces.append('"' + ''.join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else '\\%03o' % b for b in piece) + '"')
with open(target, 'w') as out:
    out.write('// Generated from %s.\n#include <string_view>\n\n' % source.rsplit('/', 1)[-1])
    out.write('namespace l3dml::app {\nextern const std::string_view %s;\nconst std::string_view %s =\n' % (name, name))
    out.write('\n'.join('    ' + p for p in pieces) + ';\n}  // namespace l3dml::app\n')
