"""PX4's MAVLink interface: status, commands, parameters, missions and batteries, by the simulated clock."""

import math
import sys

import fence
from commander import CRITICAL, DESCEND, LAND, LOITER, MANUAL, MISSION, OFFBOARD, RETURN, Item
from links import CURRENT_MODE, STATUSTEXT
from parameters import bits, number
from pymavlink.dialects.v20 import common, development

TAKES_MISSIONS_FROM_US = 4_000_000
CUSTOM_MODES = {MANUAL: (1, 0), LOITER: (4, 3), MISSION: (4, 4), RETURN: (4, 5), LAND: (4, 6), DESCEND: (4, 20)}
CUSTOM_MODES |= {OFFBOARD: (6, 0)}
OLD_MODES = CUSTOM_MODES | {DESCEND: (4, 6)}
MODES = {custom: mode for mode, custom in CUSTOM_MODES.items() if mode != DESCEND}
ACCEPTED, REJECTED, DENIED, UNSUPPORTED = 0, 1, 2, 3
MISSION_DENIED = 14
NOT_STARTED, ACTIVE, PAUSED, COMPLETE = 2, 3, 4, 5
"""States of a mission in MISSION_CURRENT."""


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Interface:
    """PX4, as seen by clients of its links."""

    def tell(self, message, *links):
        """Send over the given links, or over the one whose message is answered."""
        if not self.misbehaviour.has("mute"):
            for link in links or (self.asking,):
                link.send(self.pack(message))

    def receive(self):
        """Receive UDP messages: answer pings, and keep the others for the next step."""
        for link in self.links:
            for data in link.receive():
                for message in common.MAVLink(None).parse_buffer(data) or []:
                    if message.get_type() == "PING" and message.target_system == 0:
                        asker = (message.get_srcSystem(), message.get_srcComponent())
                        self.tell(self.mavlink.ping_encode(message.time_usec, message.seq, *asker), link)
                    self.inbox.append((link, message))

    def serve(self):
        """Process UDP messages and send status, by the simulated clock."""
        vehicle = self.vehicle
        self.receive()
        for link, message in self.inbox:
            handler = getattr(self, f"on_{message.get_type().lower()}", None)
            if handler is not None:
                self.asking = link
                handler(message)
        self.inbox = []
        if self.uploading is not None and self.time_us - self.asked_us > 500_000:
            self.ask_for_item()
        for severity, text in vehicle.said:
            say(f"INFO  [commander] {text.rstrip()}")
            for link in self.links:
                link.queue(severity, text, self.time_us)
        vehicle.said = []
        for link in self.links:
            self.report(link)
        self.shown = (vehicle.item, vehicle.is_finished)

    def report(self, link):
        """Send what is due on a link."""
        vehicle, time_us = self.vehicle, self.time_us
        if link.is_due("heartbeat", 1_000_000, time_us):
            armed, state = 128 * vehicle.is_armed, 5 if vehicle.is_failsafe else 4
            state = state if vehicle.is_armed else 3
            self.tell(self.mavlink.heartbeat_encode(2, 12, 1 + armed, self.custom_mode(), state), link)
        if link is self.gcs and vehicle.now.home is not None and link.is_due("position", 200_000, time_us):
            self.tell(self.position(), link)
        # It is sent on change, but which of the links does is a matter of chance; with v1.17.0, only for the item.
        item, is_finished = self.shown or (vehicle.item, vehicle.is_finished)
        has_new = link is self.gcs and item != vehicle.item
        if has_new or (is_finished != vehicle.is_finished and not self.is_old):
            self.tell(self.mission_current(), link)
        if link.last_reached != vehicle.reached:
            link.last_reached, link.reached_left = vehicle.reached, 10 if vehicle.reached >= 0 else 0
            if vehicle.reached >= 0:
                self.tell(self.mavlink.mission_item_reached_encode(vehicle.reached), link)
        if link.is_due("mission", 1_000_000, time_us):
            self.tell(self.mission_current(), link)
            if link.reached_left:
                link.reached_left -= 1
                self.tell(self.mavlink.mission_item_reached_encode(vehicle.reached), link)
        mode = self.custom_mode()
        if link.sent_us.get("mode") != mode and link.is_stream_due(CURRENT_MODE, time_us):
            link.sent_us["mode"] = mode
            asked = mode if not vehicle.is_failsafe else 4 << 16 | 4 << 24
            self.tell(development.MAVLink_current_mode_message(0, mode, asked), link)
        for severity, part, text_id, chunk in link.chunks(time_us):
            self.tell(self.mavlink.statustext_encode(severity, part, text_id, chunk), link)

    def custom_mode(self):
        """Return the custom mode of heartbeats."""
        if self.misbehaviour.has("mode", (self.time_us - self.first_us) / 1e6):
            return int(self.misbehaviour.value("mode"))
        main, sub = (OLD_MODES if self.is_old else CUSTOM_MODES)[self.vehicle.mode]
        return main << 16 | sub << 24

    def mission_current(self):
        """Return MISSION_CURRENT. Any landing completes the mission, in any mode."""
        vehicle = self.vehicle
        state = COMPLETE if vehicle.is_finished else NOT_STARTED if vehicle.reached < 0 else PAUSED
        if vehicle.mode in (MISSION, LAND) and not vehicle.is_finished:
            state = ACTIVE
        return self.mavlink.mission_current_encode(vehicle.item, len(vehicle.items), state if vehicle.items else 1)

    def position(self):
        """Return GLOBAL_POSITION_INT from the estimate."""
        now = self.vehicle.now
        lat, lon = now.globally(now.pos)
        height = round(-1e3 * now.pos[2])
        velocity = [round(100.0 * value) for value in now.vel]
        place = (round(1e7 * lat), round(1e7 * lon), round(1e3 * now.home[2]) + height, height)
        return self.mavlink.global_position_int_encode(self.time_us // 1000, *place, *velocity, 65_535)

    def on_heartbeat(self, told):
        if told.type == 6:
            self.asking.beat_us = self.time_us

    def on_param_request_read(self, told):
        if self.misbehaviour.has("lose-params") and self.misbehaviour.use_up("lose-params"):
            return
        self.tell_parameter(told.param_id)

    def on_param_set(self, told):
        name, kind = told.param_id, self.parameters.kind(told.param_id)
        if not self.parameters.has(name) or kind != told.param_type:
            say(f"ERROR [mavlink] unknown param, or param types mismatch: {name}")
            return
        if not self.misbehaviour.has("stubborn") or self.misbehaviour.value("stubborn") != name:
            self.parameters.set(name, number(kind, told.param_value))
        self.tell_parameter(name)

    def tell_parameter(self, name):
        if not self.parameters.has(name):
            say(f"ERROR [mavlink] unknown param: {name}")
            return
        kind = self.parameters.kind(name)
        value = bits(kind, self.parameters.get(name))
        self.tell(self.mavlink.param_value_encode(name.encode(), value, kind, 900, 1))

    def on_command_long(self, told):
        if told.command == 400:
            if told.param1 == 1.0:
                may = not self.misbehaviour.has("deny-arm") and self.vehicle.arm(self.time_us)
                if self.misbehaviour.has("deny-arm"):
                    self.vehicle.say(CRITICAL, f"Preflight Fail: told to{', and that at length' * 3}")
            else:
                may = self.vehicle.disarm(told.param2 == 21196.0)
            result = ACCEPTED if may else REJECTED
        elif told.command == 185:
            self.vehicle.is_terminated = told.param1 > 0.5
            result = ACCEPTED
        elif told.command == 176:
            mode = MODES.get((int(told.param2), int(told.param3)))
            result = DENIED if mode is None else ACCEPTED if self.vehicle.command_mode(mode, self.time_us) else REJECTED
        elif told.command == 511 and int(told.param1) in (STATUSTEXT, CURRENT_MODE):
            self.asking.intervals[int(told.param1)] = int(told.param2)
            result = ACCEPTED
        else:
            result = UNSUPPORTED
        sender = (told.get_srcSystem(), told.get_srcComponent())
        self.tell(self.mavlink.command_ack_encode(told.command, result, 0, 0, *sender), *self.links)

    def on_set_position_target_local_ned(self, told):
        self.note(told)
        self.vehicle.new_setpoint(self.time_us, (told.x, told.y, told.z))

    def on_mission_count(self, told):
        sender = (told.get_srcSystem(), told.get_srcComponent())
        if self.misbehaviour.has("refuse-mission"):
            self.tell(self.mavlink.mission_ack_encode(*sender, 4, told.mission_type))
            return
        if self.time_us - self.first_us < TAKES_MISSIONS_FROM_US:
            self.tell(self.mavlink.mission_ack_encode(*sender, MISSION_DENIED, told.mission_type))
            return
        self.uploading = (told.count, [], *sender, self.asking, told.mission_type)
        self.ask_for_item()

    def ask_for_item(self):
        _, items, system, component, link, kind = self.uploading
        self.asked_us = self.time_us
        self.tell(self.mavlink.mission_request_int_encode(system, component, len(items), kind), link)

    def on_mission_item_int(self, told):
        if self.uploading is None or told.seq != len(self.uploading[1]) or told.mission_type != self.uploading[-1]:
            return  # PX4 asks again for another item
        if told.frame not in ((2, 6) if told.mission_type == 0 else fence.GLOBAL_FRAMES):
            return
        count, items, system, component, link, kind = self.uploading
        params = tuple(0.0 if math.isnan(p) else p for p in (told.param1, told.param2, told.param3, told.param4))
        items.append(Item(told.command, params, told.x / 1e7, told.y / 1e7, told.z))
        if len(items) < count:
            self.ask_for_item()
            return
        self.uploading = None
        result = 0 if kind == 0 else fence.problem(items)
        if result == 0:
            (self.vehicle.new_mission, self.vehicle.new_fence, self.vehicle.new_rally_points)[kind](items)
        self.tell(self.mavlink.mission_ack_encode(system, component, result, kind), link)

    def on_battery_status(self, told):
        if self.parameters.takes_batteries and told.get_srcSystem() == self.mavlink.srcSystem:
            self.note(told)
            self.vehicle.new_charge(told.battery_remaining / 100.0)
