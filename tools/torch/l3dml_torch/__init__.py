"""The torch.distributed backend `l3dml`: gradients are summed by the network.

    import l3dml_torch                       # registers the backend
    dist.init_process_group("l3dml")         # nothing else changes

The job comes from the file that L3DML_JOB names, one per rank; "{rank}" in it is replaced. What else can be chosen,
per process group by `pg_options=l3dml_torch.Options(...)` or by environment, stands in Options.
"""
import atexit
import contextlib
import dataclasses
import datetime
import os
import weakref

import torch.distributed as dist
from torch.distributed.distributed_c10d import ProcessGroupGloo

from . import _core

__all__ = ["Options", "stats", "lane_format"]


def _env(name, default):
    return dataclasses.field(default_factory=lambda: type(default)(os.environ.get(name, default)))


@dataclasses.dataclass
class Options:
    job: str = _env("L3DML_JOB", "")            # job file of this rank; "{rank}" is replaced
    device: str = _env("L3DML_DEVICE", "")      # network interface to bind to; empty: routes decide
    format: str = _env("L3DML_FORMAT", "fixed32")  # lanes: fixed32, fixed16x2, fixed8x4 (the last two with error feedback)
    lease: float = _env("L3DML_LEASE", 5.0)     # seconds of silence after which a rank is given up
    non_finite: str = _env("L3DML_NON_FINITE", "raise")  # or "nan": as gradient scalers expect


_groups = weakref.WeakSet()


def _own_connection(store):
    """The store for the leases: not one on which another thread may block while it waits for a key."""
    base = store
    while hasattr(base, "underlying_store"):
        base = base.underlying_store
    if isinstance(base, dist.TCPStore):
        base = dist.TCPStore(base.host, base.port, is_master=False, wait_for_workers=False,
                             timeout=datetime.timedelta(seconds=10))
    return base


def _create(given, options):
    gloo = ProcessGroupGloo(dist.PrefixStore("gloo", given.store), given.group_rank, given.group_size,
                            timeout=given.timeout)
    # A job has one sequence of collectives, the default group's. Subgroups sum by gloo.
    if given.global_ranks_in_group:
        return gloo
    options = options or Options()
    if not isinstance(options, Options):
        raise TypeError("pg_options of the l3dml backend must be l3dml_torch.Options(...)")
    if not options.job:
        raise RuntimeError("l3dml: set L3DML_JOB to the job file of this rank (\"{rank}\" in it is replaced)")
    if options.non_finite not in ("raise", "nan"):
        raise ValueError(f"l3dml: non_finite is '{options.non_finite}', must be raise or nan")
    attempt = ":".join(os.environ.get(f"TORCHELASTIC_{name}", "") for name in ("RUN_ID", "RESTART_COUNT"))
    leases = dist.PrefixStore(f"l3dml/{given.group_id}/{attempt}", _own_connection(given.store))
    group = _core.create(job_file=options.job.replace("{rank}", str(given.group_rank)), device=options.device,
                         gloo=gloo, leases=leases, format=options.format, timeout=given.timeout,
                         lease=datetime.timedelta(seconds=options.lease),
                         raise_non_finite=options.non_finite == "raise")
    _groups.add(group)
    return group


def _abandon_all():
    for group in list(_groups):
        _core.abandon(group)


def _ours(group):
    return group if group is not None else dist.distributed_c10d._get_default_group()


def stats(group=None):
    """Counters of this rank's packets and chunks, summed over stripes and by stripe."""
    return _core.stats(_ours(group))


@contextlib.contextmanager
def lane_format(format, group=None):
    """Allreduces begun inside use this lane format; all ranks must agree. Below 1024 elements it is always fixed32."""
    group = _ours(group)
    before = _core.format(group)
    _core.set_format(group, format)
    try:
        yield
    finally:
        _core.set_format(group, before)


# A script that ends without destroy_process_group(), maybe by an exception, must not wait for the others.
atexit.register(_abandon_all)
dist.Backend.register_backend("l3dml", _create, extended_api=True)
