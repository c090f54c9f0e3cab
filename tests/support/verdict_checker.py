"""A verdict on a flight from its log columns, mission text and planned end, independent of the package.

It follows the table of outcomes in docs/reference/logs.md, in its order.
"""

import itertools
import math

import numpy as np

EARTH_M = 6_371_000.0
COLUMNS = [
    "time_us",
    "armed",
    "landed",
    "nav_state",
    "failsafe",
    "mission_item",
    "mission_count",
    "pos_ned",
    "pos_sp_ned",
]
COLUMNS += ["vel_ned", "vel_sp_ned", "est_pos_ned", "q_bn", "yaw_sp"]


def checked_verdict(log, mission, home, end_s):
    """Return the outcome for the columns of a log; `mission` is the text of a QGC WPL file, or None."""
    word = verdict_without_batteries(log, mission, home, end_s)
    empty = np.flatnonzero(log["soc"].max(axis=1) <= 0.0)
    if not len(empty) or word in ("flown", "nothing asked", "failed", "out of time"):
        return word
    height = log["pos_ned"][0, 2] - log["pos_ned"][:, 2]
    until = np.flatnonzero(height > 0.05).max(initial=-1) + 1
    if word == "crashed":
        until = np.flatnonzero(log["crashed"])[0]
    if word == "never took off":
        until = min(np.flatnonzero(log[f"request_{name}"]).min(initial=2**62) for name in ("mission", "return", "land"))
    return "battery empty" if empty[0] <= until else word


def verdict_without_batteries(log, mission, home, end_s):
    """Return the outcome, whatever the charge of the batteries."""
    time, place, speed = log["time_us"] / 1e6, log["pos_ned"], np.linalg.norm(log["vel_ned"], axis=1)
    height = place[0, 2] - place[:, 2]  # above where it stood
    if (log["crashed"] != 0).any():
        return "crashed"
    if time[-1] < end_s - 1e-9:
        return "failed"
    asked = {name: last_rise(log[f"request_{name}"]) for name in ("mission", "return", "land")}
    if max(asked.values()) < 0:
        return "nothing asked"
    if height.max() <= 0.5:
        first = min(first_rise(log[f"request_{name}"]) for name in asked if asked[name] >= 0)
        return "never took off" if time[-1] - time[first] >= 10.0 else "out of time"
    tilt = tilt_degrees(log["q_bn"][-1])
    is_down = height[-1] <= 0.05 or lies(time, height, speed, log["rotor_thrust_n"].sum(axis=1))
    if is_down and tilt >= 30.0:
        return "tipped over"
    if not is_down and (tilt >= 60.0 or log["vel_ned"][-1, 2] > 5.0):
        return "out of control"
    is_ordered = max(asked["return"], asked["land"]) >= asked["mission"]
    is_under_way = not (is_down and speed[-1] < 0.5) or log["armed"][-1] != 0
    is_taken = not is_ordered and taken_over(log, mission, max(asked.values()))[0] >= 0
    unfinished = "out of time" if is_under_way and not is_taken else "mission not finished"
    end = landing_item(mission, home) if mission else None
    if is_ordered:
        end = place[asked["land"], :2] if asked["land"] > asked["return"] else np.zeros(2)
    elif not is_finished(log, asked["mission"], mission, max(asked.values())):
        return unfinished
    if end is not None and not (is_down and speed[-1] < 0.5):
        return unfinished
    if end is not None:
        allowed = min(10.0, 5.0 + np.linalg.norm(log["est_pos_ned"][-1, :2] - place[-1, :2]))
        if is_ordered and asked["land"] > asked["return"]:
            v = np.linalg.norm(log["vel_ned"][asked["land"], :2])
            allowed += v + v * v / 4.0
        if np.linalg.norm(place[-1, :2] - end) > allowed:
            return "landed away"
    return failure_before(log, mission, home) or "flown"


def failure_before(log, mission, home):
    """Return the verdict on a request that had failed when a later one replaced it; None if there is none.

    After a mission that was finished in the air, the vehicle has to follow its setpoints even without another request.
    """
    asked = sorted((row, name) for name in ("mission", "return", "land") for row in rises(log[f"request_{name}"]))
    since, last, is_stopped = None, max(row for row, _ in asked), False
    for (first, name), (until, _) in itertools.pairwise([*asked, (len(log["armed"]), "")]):
        part = {key: log[key][:until] for key in COLUMNS}
        start = next((row for row in range(first, until) if log["armed"][row]), first)
        since = start if since is None or not log["armed"][since : start + 1].all() else since
        taken = taken_over(part, mission, first)[0]
        stop = next((row for row in range(start + 1, until) if not log["armed"][row]), until) - 1
        is_down = bool(log["landed"][stop]) and bool(log["armed"][stop])
        if name == "mission":
            done = [row for row in rises(log["mission_finished"]) if first <= row < until]
            is_done = bool(done) and (first == last or taken < 0 or done[0] <= taken)
            if is_done and not log["landed"][done[0]]:
                sank = log["pos_ned"][stop, 2] - log["pos_ned"][done[0], 2] > 0.5
                lands = landing_item(mission, home) is not None or taken_over(part, mission, done[0])[0] >= 0
                if is_astray(part, done[0]) or (is_down and sank and not lands):
                    return "setpoints not followed"
            if is_done and first != last and is_down and is_away(log, stop, landing_item(mission, home)):
                return "landed away"
            if any(misses_item(log, row) for row in range(first + 1, until)):
                return "mission not finished"
            goes_on = is_done or any(row > first and row < until for row in rises(log["mission_item"]))
            is_again = any(row > first and each == name for row, each in asked)
            if goes_on:
                is_stopped = False
            elif is_stopped and not is_again:
                return "mission not finished"
            if is_done or is_again:
                is_stopped = is_stopped or (not is_done and taken >= 0)
                continue
        if first == last:
            break
        goal = np.zeros(2) if name == "return" else log["pos_ned"][first, :2]
        if name != "mission" and taken < 0 and is_down:
            v = np.linalg.norm(log["vel_ned"][first, :2]) if name == "land" else 0.0
            if is_away(log, stop, goal, v + v * v / 4.0):
                return "landed away"
        if taken >= 0 or is_astray(part, since):
            return "mission not finished" if name == "mission" else "command not obeyed"
        lasted_us = int(log["time_us"][stop]) - int(log["time_us"][start]) if log["armed"][start] else 0
        if lasted_us >= (10_000_000 if log["landed"][start] else 5_000_000):
            since = None
    return None


def is_away(log, row, goal, more=0.0):
    """Return whether a vehicle on the ground is farther from its goal than allowed."""
    if goal is None:
        return False
    wrong = np.linalg.norm(log["est_pos_ned"][row, :2] - log["pos_ned"][row, :2])
    return bool(np.linalg.norm(log["pos_ned"][row, :2] - goal) > min(10.0, 5.0 + wrong) + more)


def misses_item(log, row):
    """Return whether an item was reported as reached in a row, more than 10 m from where the estimate was."""
    before, now = log["mission_item"][row - 1].astype(int), log["mission_item"][row].astype(int)
    is_reached = now > before or log["mission_finished"][row] > log["mission_finished"][row - 1]
    wrong = np.linalg.norm(log["est_pos_ned"][row, :2] - log["pos_ned"][row, :2])
    return bool(is_reached and log["nav_state"][row - 1] == 3 and log["armed"][row] and wrong > 10.0)


def rises(counts):
    """Return the rows at which a count increased."""
    return [row for row, (before, now) in enumerate(itertools.pairwise([0, *counts.tolist()])) if now > before]


def is_astray(log, first):
    """Return whether a vehicle left its setpoints after a row, for five seconds or more, and had not come back."""
    armed, landed, time_us = log["armed"].tolist(), log["landed"].tolist(), log["time_us"].astype(int).tolist()
    while first < len(armed) and not armed[first]:
        first += 1
    end = first
    while end < len(armed) and armed[end]:
        end += 1
    if first == end:
        return False
    least_us = 10_000_000 if landed[first] else 5_000_000
    if not all(landed[first:end]):
        end = max(row for row in range(first, end) if not landed[row]) + 1
    if time_us[end - 1] - time_us[first] < least_us:
        return False
    off, turn, state = log["pos_ned"] - log["pos_sp_ned"], turns(log), False
    then = since = lately = shortly = 0
    slow, twist, heading = {}, {}, np.unwrap(log["yaw_sp"])[:, None]
    for row in range(end):
        while time_us[then + 1 if then < row else then] <= time_us[row] - 5_000_000:
            then += 1
        while time_us[since] < time_us[row] - 5_000_000:
            since += 1
        while time_us[lately] < time_us[row] - 2_000_000:
            lately += 1
        moved, faster, turned = (
            length(np.ptp(setpoint[then : row + 1], axis=0))
            for setpoint in (log["pos_sp_ned"], log["vel_sp_ned"], heading)
        )
        wrong = log["est_pos_ned"][row] - log["pos_ned"][row]
        is_far = length(off[row, :2]) > 2.0 + moved + min(5.0, length(wrong[:2]))
        is_far |= length(off[row, 2:]) > 1.0 + moved + min(5.0, length(wrong[2:]))
        is_stuck = length(off[row]) > length(log["pos_ned"][then] - log["pos_sp_ned"][row]) - 0.5
        flown, wanted = (log[name][lately : row + 1].mean(axis=0) for name in ("vel_ned", "vel_sp_ned"))
        slow[row] = length(flown - wanted)
        is_slow = slow[row] > max(1.0, 0.5 * length(wanted)) + faster
        while time_us[shortly + 1 if shortly < row else shortly] <= time_us[row] - 2_000_000:
            shortly += 1
        is_slow = is_slow and length(off[row]) >= length(log["pos_ned"][shortly] - log["pos_sp_ned"][row]) - 0.5
        rise, planned = (-5.0 * log[name][since : row + 1, 2].mean() for name in ("vel_ned", "vel_sp_ned"))
        twist[row] = turn[lately : row + 1].mean()
        is_turned = twist[row] > 30.0 + math.degrees(turned)
        has_left = is_far and is_stuck
        has_left |= is_slow and slow[row] >= slow[then] - 0.5
        has_left |= is_turned and twist[row] > twist[then] - 10.0
        has_left |= bool(rise < 0.5 and planned > 1.0 + 5.0 * faster)
        if time_us[row] - time_us[first] >= 5_000_000 and has_left:
            state = True
        elif not (is_far or is_slow or is_turned):
            state = False
    return state


def length(vector):
    """Return the length of a vector; 0 for one that is unknown."""
    return float(np.nan_to_num(np.linalg.norm(vector)))


def turns(log):
    """Return how far each heading is from its setpoint [degrees]; 0 without one."""
    w, x, y, z = log["q_bn"].T
    off = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)) - log["yaw_sp"]
    return np.degrees(np.abs(np.nan_to_num(np.arctan2(np.sin(off), np.cos(off)))))


def checked_ending(log, mission, home):
    """Return how the flight ended, by the table of endings in docs/reference/logs.md."""
    time, place, speed = log["time_us"] / 1e6, log["pos_ned"], np.linalg.norm(log["vel_ned"], axis=1)
    height = place[0, 2] - place[:, 2]
    if (log["crashed"] != 0).any():
        return "crashed"
    flies = height.max() > 0.5
    if height[-1] > 0.05 and not (flies and lies(time, height, speed, log["rotor_thrust_n"].sum(axis=1))):
        return "in the air"
    if not flies:
        return "on the ground"
    asked = {name: last_rise(log[f"request_{name}"]) for name in ("mission", "return", "land")}
    last = max(asked.values())
    command = mission.split("\n")[-2].split()[3] if mission and asked["mission"] >= 0 else ""
    end, returns = landing_item(mission, home) if command else None, command == "20"
    allowed = min(10.0, 5.0 + np.linalg.norm(log["est_pos_ned"][-1, :2] - place[-1, :2]))
    taken, modes = taken_over(log, mission, last)
    if taken >= 0 and 5 in modes:
        end, returns = np.zeros(2), True
    elif max(asked["return"], asked["land"]) >= max(asked["mission"], 0):
        end, returns = (place[asked["land"], :2], False) if asked["land"] > asked["return"] else (np.zeros(2), True)
        if not returns:
            v = np.linalg.norm(log["vel_ned"][asked["land"], :2])
            allowed += v + v * v / 4.0
    returns = returns and (taken < 0 or 5 in modes)
    if end is not None and np.linalg.norm(place[-1, :2] - end) > allowed:
        return "landed away"
    return "returned" if returns else "landed"


def is_finished(log, mission_request, mission, last_request):
    """Return whether the mission was finished after its last request, and before a failsafe changed the mode."""
    if log["mission_finished"][-1] != 1 or log["mission_finished"][max(mission_request - 1, 0) :].all():
        return False
    taken, _ = taken_over(log, mission, last_request)
    return taken < 0 or bool(log["mission_finished"][: taken + 1].any() and log["mission_finished"][taken:].all())


def taken_over(log, mission, last_request):
    """Return the row at which a failsafe changed the mode, and its modes; -1 if none did or the mission went on.

    While disarmed, modes mean nothing. A mission that ends in the air changes to hold, one that returns to return.
    """
    mode, failsafe, item, taken, modes = log["nav_state"], log["failsafe"], log["mission_item"], -1, []
    command = mission.split("\n")[-2].split()[3] if mission else ""
    own = {"20": 5, "21": 3}.get(command, 4)
    for row in range(max(last_request, 1), len(mode)):
        if mode[row] == mode[row - 1] or not log["armed"][row]:
            continue
        if mode[row] == 3:
            taken, modes = -1, []
        elif failsafe[row] and not (mode[row] == own and item[row] == log["mission_count"][-1] - 1):
            taken, modes = row if taken < 0 else taken, [*modes, mode[row]]
    return taken, modes


def last_rise(counts):
    """Return the last row at which a request count increased; -1 if none did."""
    rows = np.flatnonzero(counts[1:] > counts[:-1]) + 1
    return int(rows[-1]) if len(rows) else (0 if counts[0] else -1)


def first_rise(counts):
    """Return the first row at which something was requested."""
    return int(np.flatnonzero(counts)[0])


def tilt_degrees(q):
    """Return the angle between the body z axis in world axes and down."""
    w, x, y, z = q
    down = np.array([2.0 * (x * z + w * y), 2.0 * (y * z - w * x), w * w - x * x - y * y + z * z])
    return math.degrees(math.atan2(math.hypot(down[0], down[1]), down[2]))


def lies(time, height, speed, thrust):
    """Return whether it has been still for half a second at less than half of its flight thrust."""
    last = time >= time[-1] - 0.5
    flew = np.median(thrust[height > 0.5])
    return bool((speed[last] < 0.2).all() and (thrust[last] < 0.5 * flew).all())


def landing_item(mission, home):
    """Return where the last item of a mission lands, north and east of home; None if it ends in the air."""
    words = mission.split("\n")[-2].split()
    if words[3] == "20":
        return np.zeros(2)
    if words[3] != "21":
        return None
    north = math.radians(float(words[8]) - home[0]) * EARTH_M
    east = math.radians(float(words[9]) - home[1]) * EARTH_M * math.cos(math.radians(home[0]))
    return np.array([north, east])
