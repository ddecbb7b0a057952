"""Runs on every rank under torch_bed: allreduce and its neighbours against what gloo or plain arithmetic says."""
import math
import os

import torch
import torch.distributed as dist

import bed
import l3dml_torch

SIZES = [(), (1,), (7,), (256,), (1000, 33), (100_000,)]


def values(rank, shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed * 100 + rank)
    if dtype in (torch.int32, torch.int64):
        return torch.randint(-10_000, 10_000, shape, generator=generator, dtype=dtype)
    return (torch.randn(shape, generator=generator, dtype=torch.float64) / 3).to(dtype)


def exact_sum(world, shape, dtype, seed=0):
    return sum(values(r, shape, dtype, seed).to(torch.float64) for r in range(world))


def close(got, expected, dtype, world):
    # Lanes hold 30 - log2(world) bits of the largest value; the rest is rounding of the type itself.
    type_error = {torch.float32: 2e-7, torch.float64: 1e-15, torch.float16: 1e-3, torch.bfloat16: 8e-3}.get(dtype, 0)
    largest = max(1.0, expected.abs().max().item() if expected.numel() else 0)
    torch.testing.assert_close(got.to(torch.float64), expected, rtol=type_error * 2,
                               atol=largest * (type_error + world * 2.0**-26) if type_error else 0)


def sums_of_every_type(rank, world):
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64):
        for shape in SIZES:
            tensor = values(rank, shape, dtype)
            dist.all_reduce(tensor)
            close(tensor, exact_sum(world, shape, dtype), dtype, world)


def averages(rank, world):
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        tensor = values(rank, (5000,), dtype)
        dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
        close(tensor, exact_sum(world, (5000,), dtype) / world, dtype, world)


def float64_beats_float32(rank, world):
    tensor = torch.full((10,), 1 / 3, dtype=torch.float64)
    dist.all_reduce(tensor)
    assert abs(tensor[0].item() - world / 3) < 2e-8, tensor[0].item()


def int32_wraps(rank, world):
    tensor = torch.full((3000,), 2**31 - 1, dtype=torch.int32)
    dist.all_reduce(tensor)
    expected = (world * (2**31 - 1) + 2**31) % 2**32 - 2**31
    assert (tensor == expected).all(), tensor[0].item()


def same_bits_on_every_rank(rank, world):
    tensor = values(rank, (50_000,), torch.float32)
    dist.all_reduce(tensor)
    everybody = [torch.empty_like(tensor) for _ in range(world)]
    dist.all_gather(everybody, tensor)
    assert all(torch.equal(tensor, other) for other in everybody)


def empty_and_zero_tensors(rank, world):
    tensor = torch.empty(0)
    dist.all_reduce(tensor)
    tensor = torch.zeros(777)
    dist.all_reduce(tensor)
    assert not tensor.any()


def strided_tensors_are_written_in_place(rank, world):
    whole = values(rank, (200, 300), torch.float32)
    before = whole.clone()
    column = whole[:, 17]
    assert not column.is_contiguous()
    dist.all_reduce(column)
    close(whole[:, 17], exact_sum(world, (200, 300), torch.float32)[:, 17], torch.float32, world)
    before[:, 17] = whole[:, 17]
    assert torch.equal(whole, before)


def magnitudes_far_apart(rank, world):
    for scale in (1e-37, 1e-20, 1.0, 1e20, 1e36):
        tensor = values(rank, (4000,), torch.float32) * scale
        dist.all_reduce(tensor)
        expected = sum((values(r, (4000,), torch.float32) * scale).double() for r in range(world))
        error = (tensor.double() - expected).abs().max().item()
        assert error <= expected.abs().max().item() * 1e-6, (scale, error)


def many_at_once(rank, world):
    tensors = [values(rank, (1 + 997 * i,), torch.float32, seed=i) for i in range(40)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    for work in reversed(works):
        assert work.wait()
        assert work.is_completed()
    for i, tensor in enumerate(tensors):
        close(tensor, exact_sum(world, tensor.shape, torch.float32, seed=i), torch.float32, world)


def futures_run_callbacks(rank, world):
    tensor = torch.full((5000,), float(rank))
    future = dist.all_reduce(tensor, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    doubled = future.wait()
    assert (doubled == world * (world - 1)).all()


def minimum_maximum_product_by_fallback(rank, world):
    for op, expected in ((dist.ReduceOp.MIN, 1), (dist.ReduceOp.MAX, world),
                         (dist.ReduceOp.PRODUCT, math.factorial(world))):
        tensor = torch.full((10,), float(rank + 1))
        dist.all_reduce(tensor, op=op)
        assert (tensor == expected).all()


def everything_else_by_gloo(rank, world):
    tensor = torch.full((4,), float(rank))
    dist.broadcast(tensor, src=world - 1)
    assert (tensor == world - 1).all()
    gathered = [torch.zeros(2) for _ in range(world)]
    dist.all_gather(gathered, torch.full((2,), float(rank)))
    assert [g[0].item() for g in gathered] == list(range(world))
    tensor = torch.full((3,), 1.0)
    dist.reduce(tensor, dst=0)
    assert rank != 0 or (tensor == world).all()
    objects = [None] * world
    dist.all_gather_object(objects, {"rank": rank})
    assert [o["rank"] for o in objects] == list(range(world))
    if rank == 0:
        dist.send(torch.ones(5), dst=1)
    elif rank == 1:
        received = torch.zeros(5)
        dist.recv(received, src=0)
        assert received.all()
    dist.barrier()


def subgroups_sum_by_gloo(rank, world):
    pair = dist.new_group([0, 1])
    if rank < 2:
        tensor = torch.full((2000,), float(rank + 1))
        dist.all_reduce(tensor, group=pair)
        assert (tensor == 3).all()


def lossy_lanes_stay_within_their_step(rank, world):
    shape, world_bits = (20_000,), math.ceil(math.log2(world))
    expected = exact_sum(world, shape, torch.float32)
    exponent = math.ceil(math.log2(max(values(r, shape, torch.float32).abs().max().item() for r in range(world))))
    for format, bits in (("fixed16x2", 15 - world_bits), ("fixed8x4", 7 - world_bits)):
        tensor = values(rank, shape, torch.float32)
        with l3dml_torch.lane_format(format):
            dist.all_reduce(tensor)
        error = (tensor.double() - expected).abs().max().item()
        step = 2.0**(exponent - bits)
        assert 0 < error <= world * step, (format, error, step)
    tensor = torch.full((10,), 1 / 3)
    with l3dml_torch.lane_format("fixed8x4"):
        dist.all_reduce(tensor)
    assert abs(tensor[0].item() - world / 3) < 1e-6, "small tensors are exact in every format"


def error_feedback_removes_bias(rank, world):
    value = values(rank, (2000,), torch.float32)
    total, steps = torch.zeros(2000, dtype=torch.float64), 64
    with l3dml_torch.lane_format("fixed8x4"):
        for step in range(steps + 8):  # the first ones find no recurring place yet
            tensor = value.clone()
            dist.all_reduce(tensor)
            total += tensor.double() if step >= 8 else 0
    expected = exact_sum(world, (2000,), torch.float32)
    one = value.clone()
    with l3dml_torch.lane_format("fixed8x4"):
        dist.all_reduce(one)
    bias, single = (total / steps - expected).abs().max().item(), (one.double() - expected).abs().max().item()
    assert bias < single / 4, (bias, single)


def not_finite_fails_on_every_rank_and_the_job_goes_on(rank, world):
    tensor = values(rank, (9000,), torch.float32)
    if rank == world - 1:
        tensor[4321] = float("nan")
    try:
        dist.all_reduce(tensor)
    except RuntimeError as error:
        assert "not finite" in str(error), error
        assert rank != world - 1 or "element 4321" in str(error), error
    else:
        raise AssertionError("no error")
    tensor = torch.ones(9000)
    dist.all_reduce(tensor)
    assert (tensor == world).all()


def statistics_count(rank, world):
    before = l3dml_torch.stats()
    dist.all_reduce(torch.ones(256 * 10))
    after = l3dml_torch.stats()
    assert after["collectives"] == before["collectives"] + 1
    assert after["chunks"] >= before["chunks"] + 10
    assert after["stripes"][0]["segment_rtt_ns"] >= 0


CASES = [sums_of_every_type, averages, float64_beats_float32, int32_wraps, same_bits_on_every_rank,
         empty_and_zero_tensors, strided_tensors_are_written_in_place, magnitudes_far_apart, many_at_once,
         futures_run_callbacks, minimum_maximum_product_by_fallback, everything_else_by_gloo, subgroups_sum_by_gloo,
         lossy_lanes_stay_within_their_step, error_feedback_removes_bias,
         not_finite_fails_on_every_rank_and_the_job_goes_on, statistics_count]


def main():
    torch.set_num_threads(1)
    dist.init_process_group("l3dml")
    rank, world = dist.get_rank(), dist.get_world_size()
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]) + 1, world, rank == 0)
    bed.run_cases(CASES, rank, world, store)
    dist.barrier()
    dist.destroy_process_group()


main()
