#!/usr/bin/env python3
"""The lines that the example block adds to the x86 pipeline, as an engineer would write them: usage: add_block.py OUTPUT
ingress.h ingress.cc pipe.cc device.cc. The same for P4 is in example_block_test.py."""

import sys
from pathlib import Path

STEPS = {
    "ingress.h": (
        ('#include "dataplane/blocks/aggregator.h"\n', '#include "dataplane/blocks/ce_marks.h"\n'),
        ("  blocks::Aggregator aggregator;\n", "  blocks::CeMarks ce_marks;\n"),
    ),
    "ingress.cc": (
        ("aggregator(config.slots * config.shards_per_pipe, config.lanes)",
         ",\n      ce_marks(config.neighbors * config.shards_per_pipe)"),
    ),
    "pipe.cc": (("void PipeImpl::handle(Context& ctx) {\n", "  if (ctx.admit) state_.ce_marks.apply(ctx);\n"),),
    "device.cc": (
        ('  add("pipe.Ingress.drop_reasons", base::kDropReasons,\n'
         "      [](PipeImpl& p, uint32_t i) { return &p.drop_counters()[i]; });\n",
         '  add("pipe.Ingress.ce_marks.marks", segments,\n'
         "      [](PipeImpl& p, uint32_t i) { return &p.ingress_state().ce_marks.marks().cell(i).packets; });\n"),
    ),
}


def insert_after(text, line, new, file="the file"):
    if text.count(line) != 1:
        sys.exit(f"add_block: in {file} this is not there once: {line.strip()}")
    return text.replace(line, line + new)


def main():
    output = Path(sys.argv[1])
    for source in map(Path, sys.argv[2:]):
        text = source.read_text()
        for line, new in STEPS[source.name]:
            text = insert_after(text, line, new, source.name)
        (output / source.name).write_text(text)


if __name__ == "__main__":
    main()
