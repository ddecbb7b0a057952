"""The torch.distributed backend `l3dml`: gradients are summed by the network.

    import l3dml_torch                       # registers the backend
    dist.init_process_group("l3dml")         # nothing else changes

The job is joined at the controller: L3DML_CONTROLLER, L3DML_JOB (its name) and L3DML_TOKEN say which. Without a controller
L3DML_JOB names a job file, one per rank; "{rank}" in it is replaced. What else can be chosen, per process group by
`pg_options=l3dml_torch.Options(...)` or by environment, stands in Options.
"""
import atexit
import contextlib
import dataclasses
import datetime
import os
import uuid
import weakref

import torch.distributed as dist
from torch.distributed import distributed_c10d
from torch.distributed.distributed_c10d import ProcessGroupGloo

from . import _core

__all__ = ["Options", "stats", "lane_format", "first_sum"]
_FORMATS = ("fixed32", "fixed16x2", "fixed8x4")


def _env(name, default):
    return dataclasses.field(default_factory=lambda: type(default)(os.environ.get(name, default)))


@dataclasses.dataclass
class Options:
    controller: str = _env("L3DML_CONTROLLER", "")  # HOST:PORT or unix:PATH; empty: by a job file
    job: str = _env("L3DML_JOB", "")            # name of the job; without a controller the job file of this rank
    token: str = _env("L3DML_TOKEN", "")        # the job's, as its creator was told
    host: str = _env("L3DML_HOST", "")          # which we are; empty: the controller finds it by our addresses
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


def _skip_barrier():
    """init_process_group() ends at a barrier; whoever comes to a running job would stand there alone."""
    barrier = distributed_c10d._store_based_barrier

    def skip(*_):
        distributed_c10d._store_based_barrier = barrier
    distributed_c10d._store_based_barrier = skip


def _processes(given):
    """A name that all processes of this group share, and no group that is started after it."""
    if given.group_rank == 0 and given.store.add("l3dml/begun", 1) == 1:  # compare_set would not wake who waits
        given.store.set("l3dml/processes", uuid.uuid4().hex)
    given.store.wait(["l3dml/processes"], given.timeout)
    return given.store.get("l3dml/processes").decode()


def _create(given, options):
    def gloo():
        return ProcessGroupGloo(dist.PrefixStore("gloo", given.store), given.group_rank, given.group_size,
                                timeout=given.timeout)
    # A job has one sequence of collectives, the default group's. Subgroups sum by gloo.
    if given.global_ranks_in_group:
        return gloo()
    options = options or Options()
    if not isinstance(options, Options):
        raise TypeError("pg_options of the l3dml backend must be l3dml_torch.Options(...)")
    if not options.job:
        raise RuntimeError("l3dml: set L3DML_JOB to the name of a job at L3DML_CONTROLLER, or without a controller to the "
                           "job file of this rank (\"{rank}\" in it is replaced)")
    if options.format not in _FORMATS:
        raise ValueError(f"l3dml: format is '{options.format}', must be fixed32, fixed16x2 or fixed8x4")
    if options.non_finite not in ("raise", "nan"):
        raise ValueError(f"l3dml: non_finite is '{options.non_finite}', must be raise or nan")
    attempt = ":".join(os.environ.get(f"TORCHELASTIC_{name}", "") for name in ("RUN_ID", "RESTART_COUNT"))
    leases = dist.PrefixStore(f"l3dml/{given.group_id}/{attempt}", _own_connection(given.store))
    job = options.job if options.controller else options.job.replace("{rank}", str(given.group_rank))
    seat = _core.take_seat(job=job, controller=options.controller, token=options.token, host=options.host,
                           processes=_processes(given) if options.controller else "", device=options.device,
                           rank=given.group_rank, world=given.group_size, timeout=given.timeout)
    if seat.joins_running:
        _skip_barrier()
    group = _core.create(seat=seat, rank=given.group_rank, gloo=None if seat.joins_running else gloo(), leases=leases, format=options.format,
                         lease=datetime.timedelta(seconds=options.lease), raise_non_finite=options.non_finite == "raise")
    _groups.add(group)
    return group


def _abandon_all():
    for group in list(_groups):
        _core.abandon(group)


def _ours(group):
    return group if group is not None else distributed_c10d._get_default_group()


def stats(group=None):
    """Counters of this rank's packets and chunks, summed over stripes and by stripe."""
    return _core.stats(_ours(group))


def first_sum(group=None):
    """Which of the group's sums was this rank's first: 0, or where it joined a job that ran."""
    return _core.first_sum(_ours(group))


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
