"""Invalid files: each error message gives the location, the value and what is allowed."""

import os
import tomllib

import pytest
from spec_files import MINIMAL, load_text, write

from px4lockstep.errors import InputError
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.toml_text import to_toml

BODY = "mass_kg = 1.5\ninertia_diag_kgm2 = [0.03, 0.03, 0.06]\nrotor_pos_body_m = [[0.1, 0.1, 0], [-0.1, -0.1, 0]]\n"
TWO = "[airframe]\n" + BODY
"""Two rotors."""
BUS = "[[power.buses]]\nbattery_ids = ['bat1']\nmotor_ids = ['motor1', 'motor2']\n"
EVENT = "[[scenario.events]]\n"
BATTERY = "[[power.batteries]]\n"

SITL = "[autopilot]\nkind = 'px4-sitl'\n"
CASES = {
    # keys
    "unknown key": ("[airframe]\nmas_kg = 1.5\n" + BODY, "airframe.mas_kg = 1.5: unknown key; did you mean 'mass_kg'?"),
    "unknown table": (TWO + "[enviroment]\nwind = 'ou'\n", "did you mean 'environment'?"),
    "key in the wrong table": (TWO + "[aircraft]\nr_ohm = 1\n", "it belongs in [airframe.propulsion.motor]"),
    "wrong case of a key": (TWO + "[airframe.propulsion]\nv_nom = 12\n", "did you mean 'V_nom'?"),
    "unknown key in an array": (TWO + BATTERY + "soc = 1\n", "power.batteries[0].soc = 1: unknown key; did you mean 'soc0'?"),
    "missing mass": (TWO.replace("mass_kg = 1.5\n", ""), "airframe.mass_kg is missing; it is required: Mass of the vehicle. [kg]"),
    "missing airframe": ("[aircraft]\nname = 'a'\n", "airframe.rotor_pos_body_m is missing"),
    "missing inertia": (TWO.replace("inertia_diag_kgm2 = [0.03, 0.03, 0.06]\n", ""), "inertia_diag_kgm2 is missing"),
    "empty file": ("", "airframe.mass_kg is missing"),
    "both spellings": (TWO + "[plant.contact]\n'μ' = 1\nmu = 1\n", "plant.contact.μ = 1 and plant.contact.mu = 1 are the same"),
    # types
    "a string for a number": ("[airframe]\n" + BODY.replace("1.5", "'1.5'"), "airframe.mass_kg = '1.5' is not allowed; it must be a number"),
    "true for a number": (TWO + "[timeline]\nt_end_s = true\n", "timeline.t_end_s = true is not allowed; it must be a number"),
    "true for a sign": (TWO + "[airframe.propulsion]\nrotor_dir = [true, -1]\n", "airframe.propulsion.rotor_dir[0] = true"),
    "a number for a string": (TWO + "[aircraft]\nname = 7\n", "aircraft.name = 7 is not allowed; it must be a string"),
    "a number for a table": ("home = 3\n" + TWO, "home = 3 is not allowed; it must be a table"),
    "a table for an array": (TWO + "[power.batteries]\nsoc0 = 1\n", "power.batteries = { soc0 = 1 } is not allowed; it must be an array"),
    "a decimal point in an integer": (TWO + "[aircraft]\nseed = 1.0\n", "aircraft.seed = 1.0 is not allowed; it must be a whole number"),
    "a whole number for true": (TWO + "[px4]\nedge_trigger = 1\n", "px4.edge_trigger = 1 is not allowed; it must be true or false"),
    "a date": (TWO + "[timeline]\nt_end_s = 2024-01-01\n", "timeline.t_end_s = 2024-01-01 is not allowed"),
    "nan": (TWO + "[home]\nlat_deg = nan\n", "home.lat_deg = nan is not allowed; it must be a finite number"),
    "inf": (TWO + "[airframe.x0]\npos_ned = [0, 0, -inf]\n", "airframe.x0.pos_ned[2] = -inf is not allowed"),
    "nan as a limit": (TWO + "[actuation.motor_actuators]\nrate_limit = nan\n", "rate_limit = nan is out of range"),
    "a very long integer": (TWO + "[timeline]\nt_end_s = 1" + "0" * 400 + "\n", "timeline.t_end_s = 1000000"),
    "a vector of two": (TWO + "[environment]\nwind_mean_ned = [1, 2]\n", "wind_mean_ned = [1, 2] is not a vector; it must be three"),
    "a matrix of eight": ("[airframe]\n" + BODY.replace("inertia_diag_kgm2 = [0.03, 0.03, 0.06]", "inertia_kgm2 = [1, 2, 3, 4, 5, 6, 7, 8]"), "is not a matrix"),
    "a string in a vector": (TWO + "[environment]\nwind_mean_ned = [1, 2, 'x']\n", "environment.wind_mean_ned[2] = 'x'"),
    # ranges and names
    "negative mass": ("[airframe]\n" + BODY.replace("1.5", "-1.5"), "airframe.mass_kg = -1.5 is out of range; it must be at least 1e-12 and at most 10000.0"),
    "charge above one": (TWO + BATTERY + "soc0 = 1.5\n", "power.batteries[0].soc0 = 1.5 is out of range; it must be at least 0.0 and at most 1.0"),
    "latitude": (TWO + "[home]\nlat_deg = 91\n", "home.lat_deg = 91 is out of range"),
    "negative seed": (TWO + "[aircraft]\nseed = -1\n", "aircraft.seed = -1 is out of range; it must be at least 0"),
    "unknown wind": (TWO + "[environment]\nwind = 'drydn'\n", "did you mean 'dryden'? Allowed: 'none', 'constant', 'ou', 'dryden'"),
    "unknown integrator": (TWO + "[plant]\nintegrator = 'RK5'\n", "plant.integrator.kind = 'RK5' is unknown"),
    "unknown contact": (TWO + "[plant]\ncontact = 'flat_grund'\n", "did you mean 'flat_ground'?"),
    "unknown actuator": (TWO + "[actuation]\nmotor_actuators = 'third_order'\n", "'first_order'"),
    "fixed wing": (TWO.replace("[airframe]", "[airframe]\nkind = 'fixed_wing'"), "airframe.kind = 'fixed_wing' is unknown; allowed: 'multirotor'"),
    "schema version": ("schema_version = 2\n" + TWO, "schema_version = 2 is unknown; it must be 1"),
    "thirteen rotors": ("[airframe]\nmass_kg = 1\ninertia_diag_kgm2 = [1, 1, 1]\nrotor_pos_body_m = [" + "[0, 0, 0]," * 13 + "]\n", "rotor_pos_body_m has 13 items; it must have at most 12"),
    "no rotors": ("[airframe]\nmass_kg = 1\ninertia_diag_kgm2 = [1, 1, 1]\nrotor_pos_body_m = []\n", "rotor_pos_body_m has 0 items; it must have at least 1"),
    "columns": (TWO + "[run]\nlog_columns = 'some'\n", "run.log_columns = 'some' is not a selection of columns"),
    # time
    "a period with a fraction of a microsecond": (TWO + "[timeline]\ndt_log_s = 0.0033333\n", "timeline.dt_log_s = 0.0033333 is not a whole number of microseconds; use 0.003333 or 0.003334"),
    "a period of zero": (TWO + "[timeline]\ndt_log_s = 0\n", "timeline.dt_log_s = 0.0 is not a period"),
    "another word for the end": (TWO + "[timeline]\nt_end_s = 'never'\n", "timeline.t_end_s = 'never' is not allowed; it must be a number of seconds, 'auto' or 'none'"),
    "a pace of zero": (TWO + "[run]\nrealtime_factor = 0\n", "run.realtime_factor = 0 is out of range; it must be at least 0.01 and at most 1000.0"),
    "a latest end beyond the limit": (TWO + "[timeline]\nt_end_s = 'auto'\nt_max_s = 1e7\n", "timeline.t_max_s = 10000000.0 gives up to"),
    "negative end": (TWO + "[timeline]\nt_end_s = -1\n", "timeline.t_end_s = -1.0 is negative"),
    "a billion seconds": (TWO + "[timeline]\nt_end_s = 1e9\n", "timeline.t_end_s = 1000000000.0 is out of range; it must be at most 10000000.0"),
    "ten million seconds": (TWO + "[timeline]\nt_end_s = 1e7\n", "timeline.t_end_s = 10000000.0 gives up to"),
    "not a multiple of the physics step": (TWO + "[timeline]\ndt_phys_s = 0.0003\n", "timeline.dt_wind_s = 0.001 is neither a whole multiple nor a whole fraction of timeline.dt_phys_s = 0.0003; use 0.0009 or 0.0012"),
    "the estimator's period": (TWO + "[estimator]\ndt_est_s = 0.008\n", "estimator.dt_est_s = 0.008 must equal timeline.dt_autopilot_s = 0.004"),
    "delay of half a tick": (TWO + "[estimator]\nkind = 'noisy_delayed'\ndelay_s = 0.006\n", "estimator.delay_s = 0.006 is not a whole number of ticks of 0.004 s; use 0.004 or 0.008"),
    "a very long delay": (TWO + "[estimator]\nkind = 'noisy_delayed'\ndelay_s = 4\n", "estimator.delay_s = 4.0 is too long"),
    "noise of two axes": (TWO + "[estimator]\nkind = 'noisy_delayed'\npos_sigma_m = [1, 2]\n", "estimator.pos_sigma_m = [1, 2] is not a vector; it must be three numbers"),
    "a gust that ends first": (TWO + "[[environment.gusts]]\nstart_s = 2\nend_s = 1\nvel_ned = [0, 0, 0]\n", "environment.gusts[0].end_s = 1.0 is not after start_s = 2.0"),
    "steps the wrong way round": (TWO + "[plant.integrator]\nh_min = 0.2\n", "plant.integrator.h_min = 0.2 is above h_max = 0.1"),
    "a step of half a microsecond": (TWO + "[plant.integrator]\nh_min = 5e-7\n", "quantize_us = false"),
    # the vehicle
    "axis not of unit length": (TWO.replace("[airframe]", "[airframe]\nrotor_axis_body_m = [[0, 0, 1], [0, 0, 1.1]]"), "airframe.rotor_axis_body_m[1] = [0.0, 0.0, 1.1] has length 1.1; it must be 1 within 1e-6"),
    "a rotor a kilometre away": (TWO.replace("[0.1, 0.1, 0]", "[1000, 0.1, 0]"), "airframe.rotor_pos_body_m[0] = [1000.0, 0.1, 0.0] is out of range; PX4 allows at most 100 m"),
    "too few axes": (TWO.replace("[airframe]", "[airframe]\nrotor_axis_body_m = [[0, 0, 1]]"), "airframe.rotor_axis_body_m has 1 items for 2 rotors in airframe.rotor_pos_body_m"),
    "too few signs": (TWO + "[airframe.propulsion]\nrotor_dir = [1]\n", "airframe.propulsion.rotor_dir has 1"),
    "singular inertia": (TWO.replace("[0.03, 0.03, 0.06]", "[0.03, 0.03, 0.0]"), "is not positive definite"),
    "inertia not symmetric": (TWO.replace("inertia_diag_kgm2 = [0.03, 0.03, 0.06]", "inertia_kgm2 = [1, 2, 0, 0, 1, 0, 0, 0, 1]"), "airframe.inertia_kgm2 = [[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] is not symmetric"),
    "inertia twice": (TWO.replace("[airframe]", "[airframe]\ninertia_kgm2 = [1, 0, 0, 0, 1, 0, 0, 0, 1]"), "give one form"),
    "attitude twice": (TWO + "[airframe.x0]\nq_bn = [1, 0, 0, 0]\neuler_deg = [0, 0, 0]\n", "airframe.x0.euler_deg = [0.0, 0.0, 0.0] is given together with airframe.x0.q_bn; give only one"),
    "quaternion of zero": (TWO + "[airframe.x0]\nq_bn = [0, 0, 0, 0]\n", "airframe.x0.q_bn = [0.0, 0.0, 0.0, 0.0] has norm 0; it must be at least 1e-06"),
    "legs without feet": (TWO + "[plant]\ncontact = 'legs'\n", "plant.contact.points_body_m is missing"),
    "static friction": (TWO + "[plant.contact]\nmu_static = 0.1\n", "plant.contact.mu_static = 0.1 is below mu; it must be at least 0.8"),
    "too few motors": (TWO + "[[actuation.motors]]\nid = 'motor1'\nchannel = 1\n", "actuation.motors has 1"),
    "a channel twice": (TWO + "[[actuation.motors]]\nid = 'a'\nchannel = 1\n[[actuation.motors]]\nid = 'b'\nchannel = 1\n", "actuation.motors[1].channel = 1 is used more than once"),
    "a channel too high": (TWO + "[[actuation.motors]]\nid = 'a'\nchannel = 13\n", "actuation.motors[0].channel = 13 is out of range; it must be at least 1 and at most 12"),
    "a name twice": (TWO + "[[actuation.motors]]\nid = 'a'\nchannel = 1\n[[actuation.motors]]\nid = 'a'\nchannel = 2\n", "actuation.motors[0].id = 'a' is used more than once"),
    # power
    "battery on no bus": (TWO + BATTERY + BATTERY + BUS, "battery 'bat2' is on no bus; every battery must be on exactly one"),
    "motor on two buses": (TWO + BATTERY + BATTERY + BUS + "[[power.buses]]\nbattery_ids = ['bat2']\nmotor_ids = ['motor1']\n", "motor 'motor1' is on buses bus1, bus2; every motor must be on exactly one"),
    "motor on no bus": (TWO + BUS.replace(", 'motor2'", ""), "motor 'motor2' is on no bus"),
    "unknown battery on a bus": (TWO + BUS.replace("bat1", "bat7"), "power.buses[0].battery_ids[0] = 'bat7' is not in power.batteries, which has bat1"),
    "bus without battery": (TWO + BUS.replace("'bat1'", ""), "power.buses[0].battery_ids = [] is empty"),
    "batteries with one name": (TWO + BATTERY + "id = 'a'\n" + BATTERY + "id = 'a'\n", "power.batteries[1].id = 'a' is used more than once"),
    "falling curve": (TWO + BATTERY + "ocv_v = [12.6, 10.8]\n", "power.batteries[0].ocv_v = [12.6, 10.8] decreases"),
    "curve of two lengths": (TWO + BATTERY + "ocv_v = [10, 11, 12]\n", "power.batteries[0].ocv_v has 3 items, ocv_soc has 2; they must have the same number"),
    "charges not increasing": (TWO + BATTERY + "ocv_soc = [0.5, 0.5]\n", "ocv_soc = [0.5, 0.5] is not strictly increasing"),
    "thresholds": (TWO + BATTERY + "crit_thr = 0.5\n", "power.batteries[0].crit_thr = 0.5 is above low_thr = 0.15"),
    "no battery": (TWO + "[power]\nbatteries = []\n", "power.batteries has 0 items; it must have at least 1"),
    "mixed models": (TWO + BATTERY + BATTERY + "model = 'ideal'\n", "use one model per bus"),
    "sensor delay beyond its buffer": (TWO + BATTERY + "sense_delay_s = 0.4\n", "power.batteries[0].sense_delay_s = 0.4 is too long; at most 64 ticks, 0.256 s, are allowed"),
    "a charge above one in the curve": (TWO + BATTERY + "ocv_soc = [0.0, 1.5]\n", "power.batteries[0].ocv_soc = [0.0, 1.5] is out of range; states of charge are 0 to 1"),
    "sensor delay": (TWO + BATTERY + "sense_delay_s = 0.001\n", "power.batteries[0].sense_delay_s = 0.001 is not a whole number of ticks"),
    # mission, parameters, events
    "missing mission": (TWO + "[px4]\nmission_path = 'gone.waypoints'\n", "px4.mission_path: file not found: "),
    "unknown mission": (TWO + "[px4]\nmission_path = 'simpel'\n", "is unknown. Did you mean 'simple'? Built-in missions: long, simple. For a file, give a path"),
    "no mission to start": (TWO + "[scenario]\nmission_time_s = 2\n", "px4.mission_path is missing; scenario.mission_time_s starts a mission"),
    "unknown parameter": (TWO + "[autopilot.params]\nMPC_XY_CRUSE = 5\n", "autopilot.params.MPC_XY_CRUSE: parameter 'MPC_XY_CRUSE' is unknown to the built-in autopilot; did you mean 'MPC_XY_CRUISE'?"),
    "parameter out of range": (TWO + "[autopilot.params]\nMPC_XY_CRUISE = 500\n", "it must be a number from 3.0 to 20.0"),
    "parameter as a string": (TWO + "[autopilot.params]\nMPC_XY_CRUISE = '5'\n", "autopilot.params.MPC_XY_CRUISE = '5' is not allowed; it must be a finite number"),
    "px4 parameter twice": (TWO + "[[px4.params]]\nname = 'A'\nvalue = 1\n[[px4.params]]\nname = 'A'\nvalue = 2\n", "px4.params[1].name = 'A' is listed twice"),
    "unknown action": (TWO + EVENT + "at_s = 1\naction = 'armm'\n", "scenario.events[0].action = 'armm' is unknown; did you mean 'arm'?"),
    "no trigger": (TWO + EVENT + "action = 'arm'\n", "scenario.events[0] has no trigger; give one of at_s, at_step, when"),
    "two triggers": (TWO + EVENT + "at_s = 1\nat_step = 1\naction = 'arm'\n", "has at_s and at_step"),
    "unknown signal": (TWO + EVENT + "when = { signal = 'height', above = 1 }\naction = 'arm'\n", "scenario.events[0].when.signal = 'height' is unknown"),
    "motor of an event": (TWO + EVENT + "at_s = 1\naction = 'disable_motor'\nmotor = 3\n", "scenario.events[0].motor = 3 does not exist: the aircraft has 2 motors; use 1 to 2"),
    "argument of another action": (TWO + EVENT + "at_s = 1\naction = 'arm'\nmotor = 1\n", "scenario.events[0].motor = 1 is not an argument of 'arm'"),
    "an event between microseconds": (TWO + EVENT + "at_s = 0.1234567\naction = 'arm'\n", "scenario.events[0].at_s = 0.1234567 is not a whole number of microseconds"),
    "replay without a recording": (TWO + "[run]\nmode = 'replay'\n", "run.recording_in is missing"),
    "recording without replay": (TWO + "[run]\nrecording_in = 'x.h5'\n", "is for a replay; run.mode is 'record'"),
    "an unused parameter": (TWO + "[autopilot.params]\nMC_AIRMODE = 1\n", "autopilot.params.MC_AIRMODE: params MC_AIRMODE: PX4 has it, but the built-in autopilot does not use it; remove it, or fly real PX4"),
    "a parameter that is not listed": (TWO + "[autopilot.params]\nSYS_AUTOSTART = 1\n", "autopilot.params.SYS_AUTOSTART: parameter 'SYS_AUTOSTART' is unknown to the built-in autopilot; remove it, or fly real PX4"),
    "a parameter of an option": (TWO + "[autopilot.params]\nHTE_HT_NOISE = 0.1\n", "remove it, or switch hover_thrust_estimate on"),
    "a parameter of a rotor that does not exist": (TWO + "[autopilot.params]\nCA_ROTOR2_PX = 1\n", "CA_ROTOR2_PX = 1 names a rotor that does not exist; rotors are 0 to 1"),
    "a parameter of the airframe out of range": (TWO + "[airframe.px4_params]\nMPC_THR_HOVER = 1.5\n", "airframe.px4_params.MPC_THR_HOVER: parameter MPC_THR_HOVER = 1.5 is out of range; it must be a number from 0.1 to 0.8"),
    "a parameter of a rotor that the airframe lacks": (TWO + "[airframe.px4_params]\nCA_ROTOR2_PX = 1\n", "airframe.px4_params.CA_ROTOR2_PX = 1 names a rotor that does not exist; rotors are 0 to 1"),
    "a rotor that turns the other way": (TWO + "[airframe.px4_params]\nCA_ROTOR1_KM = 0.05\n", "airframe.px4_params.CA_ROTOR1_KM = 0.05 has the wrong sign for airframe.propulsion.rotor_dir[1] = -1; change one of them"),
    "an invalid low-battery action": (TWO + "[autopilot.params]\nCOM_LOW_BAT_ACT = 4\n", "autopilot.params.COM_LOW_BAT_ACT: "),
    "a word for an option": (TWO + "[autopilot]\nland_detector = true\n", "autopilot.land_detector = true is not allowed; allowed: 'host', 'estimate'"),
    "a sensor that no model has": (TWO + EVENT + "at_s = 1\naction = 'sensor_fault'\nsensor = 'gyro'\n", "scenario.events[0].sensor = 'gyro' has no effect: no model applies it"),
    "a signal without an autopilot": (TWO + "[autopilot]\nkind = 'none'\n" + EVENT + "when = { signal = 'mission_item', above = 1 }\naction = 'arm'\n", "scenario.events[0].when.signal = 'mission_item' can't be read"),
    "a rate above the tick rate": (TWO + "[px4]\nstrict_lockstep_rates = true\n[timeline]\ndt_autopilot_s = 0.005\n", "px4.lockstep.mc_att_control_rate_hz = 250 is too fast: the tick, timeline.dt_autopilot_s = 0.005, is longer than its period; use at most 200"),
    "a topic between ticks": (TWO + "[[px4.uorb.pubs]]\nkey = 'b'\ntype = 'BatteryStatus'\nperiod_s = 0.01\n", "px4.uorb.pubs[0].period_s = 0.01 is not a whole number of ticks of timeline.dt_autopilot_s = 0.004; use 0.008 or 0.012"),
    "a topic more often than ticks": (TWO + "[[px4.uorb.pubs]]\nkey = 'b'\ntype = 'BatteryStatus'\nperiod_s = 0.001\n", "px4.uorb.pubs[0].period_s = 0.001 is not a whole number of ticks of timeline.dt_autopilot_s = 0.004; use 0.004"),
    "a topic's phase between ticks": (TWO + "[[px4.uorb.pubs]]\nkey = 'b'\ntype = 'BatteryStatus'\nperiod_s = 0.1\nphase_s = 0.003\n", "px4.uorb.pubs[0].phase_s = 0.003 is not a whole number of ticks of timeline.dt_autopilot_s = 0.004; use 0 or 0.004"),
    "a topic's phase beyond its period": (TWO + "[[px4.uorb.pubs]]\nkey = 'b'\ntype = 'BatteryStatus'\nperiod_s = 0.1\nphase_s = 0.1\n", "px4.uorb.pubs[0].phase_s = 0.1 must be less than the period, 0.1"),
    "a topic's phase at every tick": (TWO + "[[px4.uorb.pubs]]\nkey = 'b'\ntype = 'BatteryStatus'\nphase_s = 0.004\n", "px4.uorb.pubs[0].phase_s = 0.004 must be less than the period, 0.004"),
    "an unknown preset": (TWO + "[px4.uorb]\npreset = 'state_injecton'\n", "px4.uorb.preset = 'state_injecton' is unknown; did you mean 'state_injection'?"),
    "a rate beyond microseconds": (TWO + "[px4.lockstep]\nnavigator_rate_hz = 1000001\n", "px4.lockstep.navigator_rate_hz = 1000001 is out of range"),
    "an unknown column": (TWO + "[run]\nlog_columns = ['pos_nd']\n", "run.log_columns[0] = 'pos_nd' is unknown; did you mean 'pos_ned'?"),
    # the file itself
    "invalid TOML": ("mass = = 3\n", "is not TOML: Invalid value (at line 1"),
    "a key twice": ("[home]\nlat_deg = 1\nlat_deg = 2\n", "is not TOML: Cannot overwrite a value (at line 3"),
    "a Greek key without quotes": (TWO + "[plant.contact]\nμ = 1\n", 'needs quotes: "μ" = …'),
    "extends as a string": ("extends = 'iris'\n" + TWO, "extends = 'iris' is not allowed; it must be an array of strings"),
    "extends of a missing file": ("extends = ['gone.toml']\n" + TWO, "extends: file not found: "),
    "extends of an unknown name": ("extends = ['irs']\n" + TWO, "unknown aircraft 'irs'. Did you mean 'iris'? Built-in aircraft: hex, iris, "),
    "extends of itself": ("extends = ['field.toml']\n" + TWO, "is circular: field.toml → field.toml"),
    "a zero byte in a path": (TWO + '[px4]\nlibpath = "a\\u0000b"\n', "px4.libpath = 'a\\x00b' is not a path"),
    "nested too deeply": ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
    "nested somewhat too deeply": (TWO + "[run]\nlog_columns = " + "[" * 40 + "]" * 40, "nested too deeply"),
    "a key of 20,000 tables": (".".join(["a"] * 20_000) + " = 1\n" + TWO, "nested too deeply"),
    # hostile
    "a key with an accent": (TWO + "[home]\n'lät_deg' = 1\n", "home.lät_deg = 1: unknown key; did you mean 'lat_deg'?"),
    "an emoji as a key": (TWO + "[home]\n'😀' = 1\n", "home.😀 = 1: unknown key"),
    "an empty key": (TWO + "[home]\n'' = 1\n", "home. = 1: unknown key"),
    "an empty name": (TWO + "[aircraft]\nname = ''\n", "aircraft.name = '' is not allowed; it must be a non-empty string"),
    "a very long name": (TWO + "[aircraft]\nname = '" + "x" * 101 + "'\n", "is too long; it must have at most 100 characters"),
    "an empty path": (TWO + "[px4]\nmission_path = ''\n", "px4.mission_path = '' is not allowed"),
    "an empty choice": (TWO + "[environment]\nwind = ''\n", "environment.wind = '' is unknown; allowed: 'none'"),
    "no columns": (TWO + "[run]\nlog_columns = []\n", "run.log_columns = [] is not a selection of columns"),
    "negative noise": (TWO + "[estimator]\npos_sigma_m = -1\n", "estimator.pos_sigma_m = -1 is out of range; it must be one finite number of at least 0, or three"),
    "negative noise of an axis": (TWO + "[environment]\nwind_sigma_ned = [1, -1, 0]\n", "environment.wind_sigma_ned[1] = -1 is out of range; it must be at least 0"),
    "noise that is not a number": (TWO + "[estimator]\npos_sigma_m = nan\n", "estimator.pos_sigma_m = nan is out of range"),
    "a pole": (TWO + "[home]\nlat_deg = 90\n", "home.lat_deg = 90 is out of range; it must be above -90.0 and below 90.0"),
    "version 1.0": ("schema_version = 1.0\n" + TWO, "schema_version = 1.0 is unknown; it must be 1"),
    "version true": ("schema_version = true\n" + TWO, "schema_version = true is unknown"),
    "a time": (TWO + "[home]\nlon_deg = 07:32:00\n", "home.lon_deg = 07:32:00 is not allowed; it must be a number"),
    "a date as a name": (TWO + "[aircraft]\nname = 1979-05-27T07:32:00Z\n", "it must be a string, in quotes"),
    "a mixed array": (TWO.replace("[0.03, 0.03, 0.06]", "[0.03, '0.03', [1]]"), "airframe.inertia_diag_kgm2[2] = [1] is not allowed"),
    "a mixed array of tables": ("scenario.events = [{ at_s = 1, action = 'arm' }, 3]\n" + TWO, "scenario.events[1] = 3 is not allowed; it must be a table"),
    "100,000 rotors": (TWO.replace("rotor_pos_body_m = [", "rotor_pos_body_m = [" + "[0, 0, 0]," * 90_000), "airframe.rotor_pos_body_m has 90002 items; it must have at most 12"),
    "20,000 events": (TWO + (EVENT + "at_s = 1\naction = 'arm'\n") * 20_000, "scenario.events has 20000 events; at most 62 are allowed"),
    "50,000 unknown keys": ("".join(f"k{i} = 1\n" for i in range(50_000)) + TWO, "has more than 100 errors"),
    "50,000 unknown parameters": (TWO + "[autopilot.params]\n" + "".join(f"K{i} = 1\n" for i in range(50_000)), "has more than 100 errors"),
    "inertia products alone": (TWO.replace("inertia_diag_kgm2", "inertia_products_kgm2"), "airframe.inertia_diag_kgm2 is missing"),
    "inertia products too large": (TWO.replace("[airframe]", "[airframe]\ninertia_products_kgm2 = [1, 1, 1]"), "with airframe.inertia_products_kgm2 = [1.0, 1.0, 1.0] is not positive definite"),
    "values far out of range": (TWO + "[airframe.propulsion.motor]\nviscous_friction_nm_per_rad_s = 1e308\n", "viscous_friction_nm_per_rad_s = 1e+308 is out of range"),
    "numbers that overflow": (TWO + "[[power.batteries]]\nr1 = 1e-200\nc1 = 1e-200\n", "power.batteries[0].r1 = 1e-200 is out of range; it must be at least 1e-12"),
    "an axis of 1e308": (TWO.replace("[airframe]", "[airframe]\nrotor_axis_body_m = [[0, 0, 1], [0, 0, 1e308]]"), "it must be at least -1000000.0 and at most 1000000.0"),
    "1e308 seconds": (TWO + "[timeline]\nt_end_s = 1e308\n", "timeline.t_end_s = 1e+308 is too long"),
    "a bus twice": (TWO + BUS.replace("]]\n", "]]\nid = 'x'\n") + "[[power.buses]]\nid = 'x'\nbattery_ids = []\nmotor_ids = []\n", "power.buses[1].id = 'x' is used more than once"),
    "a motor twice on a bus": (TWO + BUS.replace("'motor1'", "'motor1', 'motor1'"), "motor 'motor1' is on buses bus1, bus1"),
    "a sensor twice": (TWO + "[[sensors]]\nkind = 'gps'\nid = 'a'\n" * 2, "sensors[1].id = 'a' is used more than once; sensors need unique names"),
    "a fault that stock PX4 does not support": (TWO + SITL + EVENT + "at_s = 1\naction = 'sensor_fault'\nsensor = 'estimate'\n", "scenario.events[0].sensor = 'estimate' has no effect: no model applies it; allowed: gyro, accel, mag, baro, gps"),
    "an estimate fault with stock PX4": (TWO + SITL + EVENT + "at_s = 1\naction = 'estimate_dropout'\n", "scenario.events[0].action = 'estimate_dropout' has no effect: stock PX4 has its own estimator"),
    "an instance that stock PX4 does not have": (TWO + "[px4.sitl]\ninstance = 10\n", "px4.sitl.instance = 10 is out of range"),
    "an answer timeout of zero": (TWO + "[px4.sitl]\nanswer_timeout_s = 0\n", "px4.sitl.answer_timeout_s = 0 is out of range"),
    "a boot time below a microsecond": (TWO + "[px4.sitl]\nboot_s = 0.0000001\n", "px4.sitl.boot_s = 1e-07 is not a whole number of microseconds"),
    "a number for a sensor fault": (TWO + EVENT + "at_s = 1\naction = 'sensor_fault'\nsensor = 3\n", "scenario.events[0].sensor = 3 is not allowed"),
    "a condition without a signal": (TWO + EVENT + "when = {}\naction = 'arm'\n", "scenario.events[0].when.signal is missing"),
    "a condition with both thresholds": (TWO + EVENT + "when = { signal = 'altitude_m', above = 1, below = 2 }\naction = 'arm'\n", "has both; give above or below"),
    "a tick beyond integers": (TWO + EVENT + "at_step = 99999999999999999999\naction = 'arm'\n", "is not an autopilot tick"),
    "a thrust loss without a fraction": (TWO + EVENT + "at_s = 1\naction = 'thrust_loss'\nmotor = 1\n", "scenario.events[0].fraction is missing"),
    "a mission that never ends": (TWO + "[px4]\nmission_path = '/dev/zero'\n", "/dev/zero is not a regular file; give the path of a mission"),
    "a folder for a mission": (TWO + "[px4]\nmission_path = '.'\n", "is a folder; give the path of a mission (QGC WPL 110, or a .plan)"),
    "a folder for a log": (TWO + "[run]\nlog_csv = '.'\n", "is a folder; give the path of a file"),
    "extends of a folder": ("extends = ['.']\n" + TWO, "is a folder; give the path of a spec file (TOML)"),
    "extends of a device": ("extends = ['/dev/zero']\n" + TWO, "/dev/zero is not a regular file"),
    "extends of an empty path": ("extends = ['']\n" + TWO, "extends: '' is not a path"),
    "extends of a number": ("extends = ['iris', 3]\n" + TWO, "extends = ['iris', 3] is not allowed"),
    "extends of a very long name": ("extends = ['" + "x" * 300 + ".toml']\n" + TWO, "can't be read: File name too long"),
    "extends of a link to itself": ("extends = ['loop.toml']\n" + TWO, "loop.toml"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_reported_with_its_place_and_what_is_allowed(tmp_path, name):
    """The message also names the file."""
    text, expected = CASES[name]
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, text)
    assert expected in str(caught.value)
    assert str(tmp_path / "field.toml") in str(caught.value)


def test_there_are_at_least_60_invalid_files():
    """The requirement is 60."""
    assert len(CASES) >= 150


def test_all_mistakes_come_in_one_report(tmp_path):
    """Errors of types, ranges, names and consistency, in several tables."""
    text = TWO + (
        "[timeline]\ndt_log_s = 0.0033333\n[environment]\nwind = 'oo'\n[home]\nlatt_deg = 1\nlon_deg = 999\n"
        "[airframe.x0]\nq_bn = [0, 0, 0, 0]\n" + BATTERY + "ocv_v = [13, 12]\n[px4]\nmission_path = 'gone.plan'\n"
    )
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, text)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("field.toml has 7 errors:")
    for key in ("dt_log_s", "wind = 'oo'", "latt_deg", "lon_deg", "q_bn", "ocv_v", "mission_path"):
        assert sum(key in line.split(";")[0] for line in lines[1:]) == 1, key


def test_an_empty_file_lists_all_required_keys(tmp_path):
    """Mass, inertia and rotors are reported together."""
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, "")
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("field.toml has 3 errors:")
    for key in ("mass_kg", "inertia_diag_kgm2", "rotor_pos_body_m"):
        assert sum(f"airframe.{key} is missing" in line for line in lines) == 1


def test_an_unknown_key_does_not_hide_other_errors(tmp_path):
    """The rest of its table and dependent tables are still checked; invalid rotors do not hide wiring errors."""
    text = (
        TWO.replace("[airframe]", "[airframe]\nmas_kg = 1\nrotor_axis_body_m = [[0, 0, 1]]")
        + BUS
        + (EVENT + "at_s = 1\naction = 'disable_motor'\nmotor = 5\nmoter = 1\n")
    )
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, text)
    for expected in (
        "airframe.mas_kg",
        "rotor_axis_body_m has 1",
        "events[0].moter",
        "events[0].motor = 5 does not exist",
    ):
        assert expected in str(caught.value)
    assert "has 4 errors" in str(caught.value)
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, TWO.replace("1.5", "-1.5") + BUS.replace("bat1", "bat2"))
    assert "motor1" not in str(caught.value)
    assert "'bat2' is not in power.batteries" in str(caught.value)


def test_build_errors_are_in_the_same_report(tmp_path):
    """If loading fails anyway, and the tables in question are valid."""
    text = MINIMAL + "[airframe.propulsion]\nkm_m = 5.0\n[px4]\nmission_path = 'simple'\n[home]\nlat_deg = 10\n"
    assert load_text(tmp_path, text).home.lat_deg == 10.0
    with pytest.raises(InputError, match="has 2 errors") as caught:
        build(load_text(tmp_path, text))
    assert "can't reach a thrust" in str(caught.value)
    assert "the mission starts" in str(caught.value)
    with pytest.raises(InputError, match="has 3 errors") as caught:
        load_text(tmp_path, text + "[run]\nmode = 'liv'\n")
    assert "can't reach a thrust" in str(caught.value)
    assert "the mission starts" in str(caught.value)
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, text + "[environment]\nwind = 'oo'\n")
    assert "thrust" not in str(caught.value)


def test_circular_extends_lists_all_files(tmp_path):
    """From the first file to the one that closes the cycle."""
    write(tmp_path, "extends = ['b.toml']\n", "a.toml")
    write(tmp_path, "extends = ['c.toml']\n", "b.toml")
    write(tmp_path, "extends = ['a.toml']\n", "c.toml")
    with pytest.raises(InputError, match=r"a\.toml → b\.toml → c\.toml → a\.toml"):
        load_spec(tmp_path / "a.toml")


def test_extends_has_limits_of_depth_and_number(tmp_path):
    """Each file names the next one twice."""
    for i in range(20):
        write(tmp_path, f"extends = ['f{i + 1}.toml']\n", f"f{i}.toml")
        write(tmp_path, f"extends = ['g{i + 1}.toml', 'g{i + 1}.toml']\n", f"g{i}.toml")
    write(tmp_path, MINIMAL, "g12.toml")
    with pytest.raises(InputError, match="exceeds the limit of 16 files deep"):
        load_spec(tmp_path / "f0.toml")
    with pytest.raises(InputError, match="exceeds the limit of 200 files"):
        load_spec(tmp_path / "g0.toml")


def test_a_source_that_is_not_a_file_is_an_error(tmp_path):
    """An unknown name, a folder, a missing file, an empty path."""
    for source, expected in (
        ("irsi", "Did you mean 'iris'?"),
        (tmp_path, "is a folder"),
        (str(tmp_path / "gone.toml"), "^file not found: "),
        ("", "is not a path"),
        ("a\0b.toml", "is not a path"),
        (os.devnull, "is not a regular file"),
    ):
        with pytest.raises(InputError, match=expected):
            load_spec(source)


def test_binary_and_huge_files_are_refused(tmp_path):
    """Before they are parsed."""
    for content, expected in (
        (bytes(range(256)), "is not text"),
        (b"a = 1\n\0", "zero byte"),
        (b"# " + b"x" * 1_000_000, "larger than 1,000,000 bytes"),
    ):
        path = tmp_path / "field.toml"
        path.write_bytes(content)
        with pytest.raises(InputError, match=expected):
            load_spec(path)


@pytest.mark.parametrize("name", ["BOM", "CRLF"])
def test_files_of_other_systems_are_read(tmp_path, name):
    """With a byte order mark and with CRLF line endings."""
    path = tmp_path / "field.toml"
    content = MINIMAL.encode("utf-8-sig" if name == "BOM" else "utf-8")
    path.write_bytes(content.replace(b"\n", b"\r\n") if name == "CRLF" else content)
    assert load_spec(path).airframe.mass_kg == 1.5


HOSTILE_SETTINGS = {
    "power.batteries[-1].soc0=1": "is not a key",
    "power.batteries[" + "9" * 5000 + "].soc0=1": "is not a key",
    "power.batteries[٣].soc0=1": "is not a key",
    "power.batteries[0][0]=1": "power.batteries[0][0] = 1 is unknown: power.batteries[0] = { id",
    "power.batteries[0]=5": "power.batteries[0] = 5 is not allowed; it must be a table",
    "scenario.events[0].at_s=1": "scenario.events[0].at_s = 1 is out of range: scenario.events has 0 items",
    "airframe=1": "airframe = 1 is not allowed; it must be a table",
    "plant.integrator.kind.x=1": "plant.integrator.kind = 'RK45' is not a table",
    "schema_version=true": "schema_version can't be overridden; set it in a file",
    "run.validate_=off": "did you mean 'validate'?",
    "autopilot.params=5": "autopilot.params = 5 is not allowed; it must be a table",
    "autopilot.params.MPC_XY_CRUISE.x=1": "it must be a finite number",
    "x" * 100_000 + "=1": "xxx… = 1: unknown key",
    "home.lat_deg=" + "9" * 5000: "999…' is not a value",
    "home.lat_deg=" + "[" * 5000: "[[[…' is not a value",
    "home.lat_deg=" + "[" * 40 + "]" * 40: "the value is nested too deeply",
    "'environment'.wind=ou": "did you mean 'environment'?",
    "environment . wind=ou": "is not a key",
    "a=b=c": "is not a value",
}


@pytest.mark.parametrize("setting", HOSTILE_SETTINGS, ids=[setting[:30] for setting in HOSTILE_SETTINGS])
def test_a_hostile_setting_is_an_error(setting):
    """The message has a readable length."""
    with pytest.raises(InputError) as caught:
        load_spec("iris", settings=[setting])
    assert HOSTILE_SETTINGS[setting] in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_flight_that_exceeds_memory_is_an_error(monkeypatch):
    """The message has a remedy."""

    def refuse(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("px4lockstep.spec.build.Simulation", refuse)
    with pytest.raises(
        InputError, match=r"--set timeline\.t_end_s=20: timeline\.t_end_s = 20\.0 needs more boundaries"
    ):
        build(load_spec("iris", settings=["timeline.t_end_s=20"]))


def test_an_unreadable_file_is_an_error(tmp_path, monkeypatch):
    """With the reason from the system. The test does not use file modes, because root can read everything."""
    path = write(tmp_path, MINIMAL)

    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("px4lockstep.reading.os.open", refuse)
    with pytest.raises(InputError, match="Permission denied"):
        load_spec(path)


def test_an_empty_mission_is_an_error(tmp_path):
    """All errors of an invalid mission are in the report."""
    write(tmp_path, "QGC WPL 110\n", "empty.waypoints")
    with pytest.raises(InputError, match=r"px4\.mission_path: .*the mission is empty"):
        load_text(tmp_path, MINIMAL + "[px4]\nmission_path = 'empty.waypoints'\n")
    write(tmp_path, "QGC WPL 110\n0 1 3 16 0 0 0 0 97 8 5 1\n1 0 3 16 0 0 0 0 98 8 5 1\n", "bad.waypoints")
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, MINIMAL + "[px4]\nmission_path = 'bad.waypoints'\n")
    assert "has 2 errors" in str(caught.value)


ODD = ("x", "", -1, 1e308, 5e-324, True, [], {}, [[1]], [{}], float("nan"), float("inf"), 2**70, "a\0b", 1e-7, None)


def places(value, key=""):
    """Yield the dotted key of each value in a table."""
    if key:
        yield key
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from places(item, f"{key}[{name}]" if isinstance(name, int) else f"{key}.{name}" if key else name)


@pytest.mark.long
def test_odd_values_anywhere_raise_input_errors_only(tmp_path):
    """Each key of the resolved Iris with three odd values in turn: it loads, or raises an InputError."""
    text = to_toml(load_spec("iris"))
    path = write(tmp_path, text)
    refused = 0
    for i, key in enumerate(places(tomllib.loads(text))):
        for odd in (ODD[(3 * i + j) % len(ODD)] for j in range(3)):
            try:
                load_spec(path, {key: odd})
            except InputError:
                refused += 1
    assert refused > 400


BUILD_CASES = {
    "too weak a motor": ("[airframe.propulsion]\nkm_m = 5.0\n", "airframe.propulsion can't reach a thrust"),
    "a missing PX4 library": ("[autopilot]\nkind = 'px4'\n[px4]\nlibpath = 'gone.so'\n", "PX4's library was not found (px4.libpath = "),
    "replay": ("[run]\nmode = 'replay'\nrecording_in = 'x.h5'\n", "run.mode = 'replay' can't be flown"),
    "a mission elsewhere": ("[px4]\nmission_path = 'simple'\n[home]\nlat_deg = 10\n", "px4.mission_path: the mission starts 4158439 m from home, but MIS_DIST_1WP allows only 10000 m"),
    "a column that this flight does not have": ("[run]\nlog_columns = ['servos']\n", "run.log_columns[0]: this log has no column 'servos'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILD_CASES)
def test_errors_found_by_the_build_name_file_and_key(tmp_path, name):
    """They are not found when the file is loaded."""
    text, expected = BUILD_CASES[name]
    spec = load_text(tmp_path, MINIMAL + text)
    with pytest.raises(InputError) as caught:
        build(spec)
    assert expected in str(caught.value)
    assert str(tmp_path / "field.toml") in str(caught.value)
