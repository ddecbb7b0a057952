"""Runs on every rank under torch_bed or in a lab: what happens when a rank dies, leaves, or is told nonsense. One case per run."""
import os
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist

import l3dml_torch


def expect_error(*words):
    """Allreduces until one fails; the error must hold all the words."""
    began = time.monotonic()
    try:
        while True:
            dist.all_reduce(torch.ones(1_000_000))
    except RuntimeError as error:
        assert all(word in str(error) for word in words), f"{error} lacks one of {words}"
        print(f"rank {dist.get_rank()} got its error after {time.monotonic() - began:.1f} s: {error}", flush=True)
    try:  # and so do all later calls, at once
        dist.all_reduce(torch.ones(10))
    except RuntimeError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("a failed group summed again")


def killed(rank):
    """Rank 1 is killed in the middle of an allreduce that all others are in."""
    if rank == 1:
        dist.all_reduce(torch.ones(10_000_000), async_op=True)
        os.kill(os.getpid(), signal.SIGKILL)
    expect_error("rank 1", "is gone")


def leaves(rank):
    """Rank 1 ends without destroying the group, while the others go on."""
    if rank == 1:
        return
    expect_error("rank 1", "has left the group")


def fails_alone(rank):
    """Rank 0, which also serves the store, ends by an exception; the script of the others must end too."""
    if rank == 0:
        raise ValueError("this exception is part of the test")
    expect_error("rank 0")


def nan_option(rank):
    """Gradient scalers want to see what is not finite, not an exception."""
    tensor = torch.ones(2000)
    if rank == 0:
        tensor[7] = float("inf")
    dist.all_reduce(tensor)
    assert tensor.isnan().all()
    tensor = torch.ones(2000)
    dist.all_reduce(tensor)
    assert (tensor == dist.get_world_size()).all()
    dist.destroy_process_group()


def interpreter_stays_free(rank):
    """A rank that waits for a slow one runs other Python threads meanwhile."""
    counter, stop = [0], threading.Event()

    def count():
        while not stop.wait(0.001):
            counter[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]) + 1, dist.get_world_size(), rank == 0)
    if rank == 0:
        store.wait(["counted"])  # set by a thread of rank 1 while that one is in allreduce
    else:
        def tell():
            store.set("counted", "yes")
        threading.Timer(0.2, tell).start()
    dist.all_reduce(torch.ones(100))
    stop.set()
    thread.join()
    assert counter[0] > 0
    dist.barrier()
    dist.destroy_process_group()


def main():
    torch.set_num_threads(1)
    case = globals()[sys.argv[1]]
    options = l3dml_torch.Options(non_finite="nan") if sys.argv[1] == "nan_option" else None
    dist.init_process_group("l3dml", pg_options=options)
    rank = dist.get_rank()
    dist.all_reduce(torch.ones(1000))  # everybody was there once
    dist.barrier()
    case(rank)
    print(f"rank {rank} as expected", flush=True)


main()
