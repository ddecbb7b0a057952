#!/usr/bin/env python3
"""Allreduce and everything beside it: worlds of 2, 3 and 4, with and without loss."""
import sys

import bed


def world_of(world, loss):
    def test():
        output, code = bed.run(bed.python(f"{bed.HERE}/collectives_worker.py"), "--world", str(world), "--loss", str(loss))
        return [(f"{case} [world {world}, loss {loss}]", error) for case, error in bed.cases_of(output, code)]
    test.__name__ = f"world of {world}"
    return test


sys.exit(bed.tap([world_of(2, 0), world_of(3, 0.02), world_of(4, 0)]))
