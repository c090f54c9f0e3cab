"""Cost of a step of stock PX4's host. Target: below 60 µs; 35 to 48 on a busy machine, 57 to 59 on an idle one."""

from px4lockstep.bench import sitl_host_step


def test_a_step_of_the_host(benchmark):
    costs_us = []
    benchmark.pedantic(lambda: costs_us.append(sitl_host_step.measured()), rounds=3)
    benchmark.extra_info.update(each_us=min(costs_us), target_us=60.0)
    assert min(costs_us) < 60.0
