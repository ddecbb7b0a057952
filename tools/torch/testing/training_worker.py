"""Runs on every rank under torch_bed: DistributedDataParallel over the backend. One case per run."""
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn

import l3dml_torch  # noqa: F401  registers the backend


def net():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(100, 700), nn.ReLU(), nn.Linear(700, 700), nn.ReLU(), nn.Linear(700, 10))


def batch(rank, step):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(16, 100, generator=generator), torch.randint(0, 10, (16,), generator=generator)


def trained(group, rank, steps=12):
    model = nn.parallel.DistributedDataParallel(net(), process_group=group, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        x, y = batch(rank, step)
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def same_weights_as_gloo(rank, world):
    ours = trained(None, rank)
    gloo = trained(dist.new_group(backend="gloo"), rank)
    error = (ours - gloo).abs().max().item()
    assert error < 1e-5, error
    everybody = [torch.empty_like(ours) for _ in range(world)]
    dist.all_gather(everybody, ours)
    assert all(torch.equal(ours, other) for other in everybody)


def buckets_overlap_with_the_backward_pass(rank, world):
    """Rank 1 enters its step only after rank 0 has begun the sum of every bucket: were any of them to wait for its
    result, nobody would ever go on."""
    store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]) + 1, world, rank == 0)
    buckets = []

    def hook(_, bucket):
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        buckets.append(bucket.index())
        if bucket.is_last() and rank == 0:
            store.set(f"begun {step}", "all")
        return work.get_future().then(lambda f: f.value()[0])

    model = nn.parallel.DistributedDataParallel(net(), bucket_cap_mb=1)
    model.register_comm_hook(None, hook)
    for step in range(4):
        if rank != 0 and step != 1:  # in step 1 DDP lays out its buckets anew, by a broadcast
            store.wait([f"begun {step}"])
        x, y = batch(rank, step)
        nn.functional.cross_entropy(model(x), y).backward()
    assert len(buckets) >= 7 and buckets[-2:] == [0, 1], buckets


def runs_under_torchrun(rank, world):
    tensor = torch.full((3000,), float(rank + 1))
    dist.all_reduce(tensor)
    assert (tensor == world * (world + 1) / 2).all()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("l3dml")
    rank, world = dist.get_rank(), dist.get_world_size()
    globals()[sys.argv[1]](rank, world)
    print(f"rank {rank} as expected", flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
