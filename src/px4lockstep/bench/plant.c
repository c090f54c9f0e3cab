/* The Iris plant in plain C: the reference for the speed of the compiled Python.
 *
 * Models: docs/ (rigid body with rotor gyroscopics, linear drag, ISA density, `direct` motors, propulsion with
 * inflow, Thevenin battery, bus solve without avionics load, flat ground, uniform gravity). All parameters come from
 * the caller, so that both sides simulate the same aircraft. Classical RK4 with a fixed step; the state is normalized
 * and projected after every step, not at the stages.
 *
 *     cc -O3 -march=native -shared -fPIC -o plant.so plant.c -lm
 *
 * Like the Python side, it stores reciprocals and clamps the duties once per command. Unlike it, it lets the compiler
 * fuse multiply-adds (10 % faster) and calls the library's pow where the Python side sums a series (about 10 % slower).
 *
 * SI units. World NED, body FRD, q_bn = (w, x, y, z) rotates body to NED, wind is the velocity of the air over the ground.
 */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { N_ROTORS = 4, MAX_OCV = 8 };

/* Order of the state vector. */
enum {
    X_POS = 0,                   /* position NED [m] */
    X_VEL = 3,                   /* velocity NED [m/s] */
    X_QUAT = 6,                  /* q_bn */
    X_OMEGA = 10,                /* body rates [rad/s] */
    X_ROTOR = 13,                /* rotor speeds [rad/s], not negative */
    X_SOC = X_ROTOR + N_ROTORS,  /* state of charge, 0 to 1 */
    X_V1,                        /* polarization voltage [V] */
    N_STATES
};

/* Order of `params`. A rotor has ROTOR_PARAMS entries: position (3) [m], axis (3, unit), sign of the reaction torque
 * on the body (+1 or -1). OCV points past the count are ignored; SOC points rise. */
enum {
    P_MASS = 0,                                      /* [kg] */
    P_INERTIA = 1,                                   /* 9, row-major [kg m^2] */
    P_INERTIA_INV = P_INERTIA + 9,                   /* 9, row-major [1/(kg m^2)] */
    P_LINEAR_DRAG = P_INERTIA_INV + 9,               /* [N s/m] */
    P_ANGULAR_DAMPING,                               /* 3 [N m s] */
    P_GRAVITY = P_ANGULAR_DAMPING + 3,               /* [m/s^2] */
    P_HOME_ALT,                                      /* above sea level [m] */
    P_ROTORS,                                        /* 4 x 7, see above */
    ROTOR_PARAMS = 7,
    P_KE = P_ROTORS + N_ROTORS * ROTOR_PARAMS,       /* = Kt = 60/(2 pi Kv) [V s] */
    P_R_MOTOR,                                       /* [ohm] */
    P_I0,                                            /* no-load current [A] */
    P_VISCOUS,                                       /* friction [N m s] */
    P_I_MAX,                                         /* [A] */
    P_ETA,                                           /* ESC efficiency */
    P_DEADZONE,                                      /* duty below which the ESC is off */
    P_KT,                                            /* T = kT rho w^2 [m^4] */
    P_KQ,                                            /* Q = kQ rho w^2 [m^5] */
    P_RADIUS,                                        /* rotor radius [m] */
    P_INFLOW_KT,                                     /* thrust loss with axial inflow */
    P_INFLOW_KQ,                                     /* torque loss with axial inflow */
    P_ROTOR_J,                                       /* rotor inertia [kg m^2] */
    P_CAPACITY,                                      /* [C] */
    P_OCV_COUNT,                                     /* 1 to MAX_OCV */
    P_OCV_SOC,                                       /* MAX_OCV entries */
    P_OCV_VOLT = P_OCV_SOC + MAX_OCV,                /* MAX_OCV entries [V] */
    P_R0 = P_OCV_VOLT + MAX_OCV,                     /* [ohm] */
    P_R1,                                            /* [ohm] */
    P_C1,                                            /* [F] */
    P_V_MIN,                                         /* [V] */
    P_CONTACT_K,                                     /* [N/m] */
    P_CONTACT_C,                                     /* [N s/m] */
    P_CONTACT_MU,                                    /* friction coefficient */
    P_CONTACT_V_EPS,                                 /* [m/s] */
    N_PARAMS
};

/* ISA 1976 (US Standard Atmosphere, NOAA-S/T 76-1562), altitude taken as geopotential. */
#define ISA_T0 288.15        /* [K] */
#define ISA_P0 101325.0      /* [Pa] */
#define ISA_LAPSE 0.0065     /* [K/m], below 11 km */
#define ISA_T11 216.65       /* [K], 11 to 20 km */
#define ISA_ALT11 11000.0    /* [m] */
#define ISA_G0 9.80665       /* [m/s^2] */
#define ISA_R 287.05287      /* [J/(kg K)] */
#define ISA_RHO0 (ISA_P0 / (ISA_R * ISA_T0))
#define ISA_EXPONENT (ISA_G0 / (ISA_LAPSE * ISA_R) - 1.0)

#define BUS_ITERATIONS 6
#define BUS_TOLERANCE 1e-6   /* [V] */
#define BUS_BISECTIONS 60    /* a few volts to below one ulp */

typedef struct {
    double pos[3], axis[3], sign;
} rotor_t;

/* The parameters with the reciprocals that the right-hand side needs. */
typedef struct {
    double inv_mass, inertia[9], inertia_inv[9], drag, damping[3], gravity, home_alt;
    rotor_t rotor[N_ROTORS];
    double ke, inv_r, i0, viscous, i_max, inv_eta, inv_eta_r, deadzone;
    double kt, kq, radius, inflow_kt, inflow_kq, rotor_j, inv_rotor_j;
    double inv_capacity, r0, inv_r1c1, inv_c1, v_min;
    int n_ocv;
    double ocv_soc[MAX_OCV], ocv_volt[MAX_OCV], ocv_slope[MAX_OCV];
    double contact_k, contact_c, contact_mu, contact_v_eps;
} plant_t;

/* Not fmin and fmax: their rules for NaN and signed zeros cost a call or extra instructions. */
static inline double min2(double a, double b) { return a < b ? a : b; }
static inline double max2(double a, double b) { return a > b ? a : b; }
static inline double clamp(double v, double lo, double hi) { return min2(max2(v, lo), hi); }

static bool load_params(const double *params, plant_t *p)
{
    double r = params[P_R_MOTOR];
    p->inv_mass = 1.0 / params[P_MASS];
    for (int i = 0; i < 9; i++) {
        p->inertia[i] = params[P_INERTIA + i];
        p->inertia_inv[i] = params[P_INERTIA_INV + i];
    }
    p->drag = params[P_LINEAR_DRAG];
    for (int i = 0; i < 3; i++)
        p->damping[i] = params[P_ANGULAR_DAMPING + i];
    p->gravity = params[P_GRAVITY];
    p->home_alt = params[P_HOME_ALT];
    for (int i = 0; i < N_ROTORS; i++) {
        const double *from = params + P_ROTORS + i * ROTOR_PARAMS;
        for (int j = 0; j < 3; j++) {
            p->rotor[i].pos[j] = from[j];
            p->rotor[i].axis[j] = from[3 + j];
        }
        p->rotor[i].sign = from[6];
    }
    p->ke = params[P_KE];
    p->inv_r = 1.0 / r;
    p->i0 = params[P_I0];
    p->viscous = params[P_VISCOUS];
    p->i_max = params[P_I_MAX];
    p->inv_eta = 1.0 / params[P_ETA];
    p->inv_eta_r = 1.0 / (params[P_ETA] * r);
    p->deadzone = params[P_DEADZONE];
    p->kt = params[P_KT];
    p->kq = params[P_KQ];
    p->radius = params[P_RADIUS];
    p->inflow_kt = params[P_INFLOW_KT];
    p->inflow_kq = params[P_INFLOW_KQ];
    p->rotor_j = params[P_ROTOR_J];
    p->inv_rotor_j = 1.0 / params[P_ROTOR_J];
    p->inv_capacity = 1.0 / params[P_CAPACITY];
    p->r0 = params[P_R0];
    p->inv_r1c1 = 1.0 / (params[P_R1] * params[P_C1]);
    p->inv_c1 = 1.0 / params[P_C1];
    p->v_min = params[P_V_MIN];
    p->contact_k = params[P_CONTACT_K];
    p->contact_c = params[P_CONTACT_C];
    p->contact_mu = params[P_CONTACT_MU];
    p->contact_v_eps = params[P_CONTACT_V_EPS];

    double count = params[P_OCV_COUNT];
    if (!(count >= 1.0 && count <= MAX_OCV))
        return false;
    p->n_ocv = (int)count;
    for (int i = 0; i < p->n_ocv; i++) {
        p->ocv_soc[i] = params[P_OCV_SOC + i];
        p->ocv_volt[i] = params[P_OCV_VOLT + i];
    }
    for (int i = 0; i + 1 < p->n_ocv; i++)
        p->ocv_slope[i] = (p->ocv_volt[i + 1] - p->ocv_volt[i]) / (p->ocv_soc[i + 1] - p->ocv_soc[i]);
    return true;
}

/* Duty that the ESC passes on: NaN ("not driven") and anything below the deadzone give 0. It is held with the command,
 * so this is done once per command. */
static void esc_duties(const plant_t *p, const double *command, double *duty)
{
    for (int i = 0; i < N_ROTORS; i++)
        duty[i] = command[i] >= p->deadzone ? clamp(command[i], 0.0, 1.0) : 0.0;
}

/* rho = rho0 (T/T0)^(g0/(L R) - 1) to 11 km; above it, exponential. */
static double air_density(double alt_m)
{
    double alt = max2(alt_m, 0.0);
    if (alt <= ISA_ALT11)
        return ISA_RHO0 * pow((ISA_T0 - ISA_LAPSE * alt) * (1.0 / ISA_T0), ISA_EXPONENT);
    double rho11 = ISA_RHO0 * pow(ISA_T11 / ISA_T0, ISA_EXPONENT);
    return rho11 * exp(-ISA_G0 / (ISA_R * ISA_T11) * (alt - ISA_ALT11));
}

/* Voltage of the battery without current: OCV(soc) - V1, not below V_min. */
static double open_voltage(const plant_t *p, double soc, double v1)
{
    int last = p->n_ocv - 1;
    double ocv;
    if (soc <= p->ocv_soc[0]) {
        ocv = p->ocv_volt[0];
    } else if (soc >= p->ocv_soc[last]) {
        ocv = p->ocv_volt[last];
    } else {
        int i = 0;
        while (soc >= p->ocv_soc[i + 1])
            i++;
        ocv = p->ocv_volt[i] + p->ocv_slope[i] * (soc - p->ocv_soc[i]);
    }
    return max2(p->v_min, ocv - v1);
}

/* Current between the two limits; the caller clamps. */
static inline double linear_current(const plant_t *p, double duty, double speed, double volt)
{
    return (duty * volt - p->ke * speed) * p->inv_r;
}

static double bus_current(const plant_t *p, const double *duty, const double *speed, double volt)
{
    double total = 0.0;
    for (int i = 0; i < N_ROTORS; i++)
        total += duty[i] * clamp(linear_current(p, duty[i], speed[i], volt), 0.0, p->i_max) * p->inv_eta;
    return total;
}

/* What the bus voltage would be with this current: V = max(V_min, V0 - R0 I). */
static double voltage_under_load(const plant_t *p, double v0, double current)
{
    return max2(p->v_min, v0 - p->r0 * current);
}

/* With I(V) = gain V + offset the bus voltage is V = (V0 - R0 offset)/(1 + R0 gain), in [V_min, V0]. */
static double linear_bus_voltage(const plant_t *p, double v0, double gain, double offset)
{
    return clamp((v0 - p->r0 * offset) / (1.0 + p->r0 * gain), p->v_min, v0);
}

/* Steps 2 and 3 of the bus solve: some motor is at a limit of its current. */
static double bus_voltage_limited(const plant_t *p, const double *duty, const double *speed, double v0)
{
    double volt = v0;
    for (int iteration = 0; iteration < BUS_ITERATIONS; iteration++) {
        double gain = 0.0, offset = 0.0;
        for (int i = 0; i < N_ROTORS; i++) {
            double current = linear_current(p, duty[i], speed[i], volt);
            if (current <= 0.0)
                continue;
            if (current >= p->i_max) {
                offset += duty[i] * p->i_max * p->inv_eta;
            } else {
                gain += duty[i] * duty[i] * p->inv_eta_r;
                offset -= duty[i] * p->ke * speed[i] * p->inv_eta_r;
            }
        }
        volt = linear_bus_voltage(p, v0, gain, offset);
    }
    double residual = volt - voltage_under_load(p, v0, bus_current(p, duty, speed, volt));
    if (fabs(residual) <= BUS_TOLERANCE)
        return volt;

    double lo = p->v_min, hi = v0;
    for (int iteration = 0; iteration < BUS_BISECTIONS; iteration++) {
        double mid = 0.5 * (lo + hi);
        if (mid > voltage_under_load(p, v0, bus_current(p, duty, speed, mid)))
            hi = mid;
        else
            lo = mid;
    }
    return 0.5 * (lo + hi);
}

/* Solve V = max(V_min, V0 - R0 I(V)). Step 1: every driven motor between its limits, so that I is linear in V. */
static double bus_voltage(const plant_t *p, const double *duty, const double *speed, double v0)
{
    double gain = 0.0, offset = 0.0;
    for (int i = 0; i < N_ROTORS; i++) {
        gain += duty[i] * duty[i];
        offset -= duty[i] * speed[i];
    }
    double volt = linear_bus_voltage(p, v0, gain * p->inv_eta_r, offset * (p->ke * p->inv_eta_r));
    for (int i = 0; i < N_ROTORS; i++) {
        double current = linear_current(p, duty[i], speed[i], volt);
        if (duty[i] > 0.0 && !(current > 0.0 && current < p->i_max))
            return bus_voltage_limited(p, duty, speed, v0);
    }
    return volt;
}

static void rhs(const plant_t *p, const double *x, const double *duty, const double *wind_ned, double *dx)
{
    double vn = x[X_VEL], ve = x[X_VEL + 1], vd = x[X_VEL + 2];
    double qw = x[X_QUAT], qx = x[X_QUAT + 1], qy = x[X_QUAT + 2], qz = x[X_QUAT + 3];
    double wx = x[X_OMEGA], wy = x[X_OMEGA + 1], wz = x[X_OMEGA + 2];
    double soc = x[X_SOC], v1 = x[X_V1];
    const double *speed = x + X_ROTOR;

    /* R_bn, body to NED. */
    double r00 = 1.0 - 2.0 * (qy * qy + qz * qz), r01 = 2.0 * (qx * qy - qw * qz), r02 = 2.0 * (qx * qz + qw * qy);
    double r10 = 2.0 * (qx * qy + qw * qz), r11 = 1.0 - 2.0 * (qx * qx + qz * qz), r12 = 2.0 * (qy * qz - qw * qx);
    double r20 = 2.0 * (qx * qz - qw * qy), r21 = 2.0 * (qy * qz + qw * qx), r22 = 1.0 - 2.0 * (qx * qx + qy * qy);

    /* Velocity of the air relative to the vehicle, NED and body. */
    double an = wind_ned[0] - vn, ae = wind_ned[1] - ve, ad = wind_ned[2] - vd;
    double ax = r00 * an + r10 * ae + r20 * ad;
    double ay = r01 * an + r11 * ae + r21 * ad;
    double az = r02 * an + r12 * ae + r22 * ad;

    double rho = air_density(p->home_alt - x[X_POS + 2]);
    double volt = bus_voltage(p, duty, speed, open_voltage(p, soc, v1));

    /* Sums over the rotors: force and torque on the body, rotor angular momentum H and its derivative, bus current. */
    double fx = 0.0, fy = 0.0, fz = 0.0, tx = 0.0, ty = 0.0, tz = 0.0;
    double hx = 0.0, hy = 0.0, hz = 0.0, dhx = 0.0, dhy = 0.0, dhz = 0.0;
    double i_bus = 0.0;
    for (int i = 0; i < N_ROTORS; i++) {
        const rotor_t *rotor = &p->rotor[i];
        const double *a = rotor->axis, *r = rotor->pos;
        double w = speed[i];

        double current = clamp(linear_current(p, duty[i], w, volt), 0.0, p->i_max);
        double torque_electric = p->ke * max2(0.0, current - p->i0);
        i_bus += duty[i] * current * p->inv_eta;

        /* Axial inflow; positive in descent. */
        double v_axial = -(ax * a[0] + ay * a[1] + az * a[2]);
        double mu = v_axial / max2(1e-3, fabs(w) * p->radius);
        double mu2 = mu * mu, rho_w2 = rho * w * w;
        double thrust = p->kt * rho_w2 / (1.0 + p->inflow_kt * mu2);
        double torque = p->kq * rho_w2 / (1.0 + p->inflow_kq * mu2);

        double dw = (torque_electric - torque - p->viscous * w) * p->inv_rotor_j;
        if (w <= 0.0 && dw < 0.0)
            dw = 0.0;
        dx[X_ROTOR + i] = dw;

        /* Thrust along -axis; the rotor spins against the sign of its reaction torque. */
        double force_x = -thrust * a[0], force_y = -thrust * a[1], force_z = -thrust * a[2];
        double reaction = rotor->sign * torque;
        fx += force_x;
        fy += force_y;
        fz += force_z;
        tx += r[1] * force_z - r[2] * force_y + a[0] * reaction;
        ty += r[2] * force_x - r[0] * force_z + a[1] * reaction;
        tz += r[0] * force_y - r[1] * force_x + a[2] * reaction;
        double h = -rotor->sign * p->rotor_j * w, dh = -rotor->sign * p->rotor_j * dw;
        hx += h * a[0];
        hy += h * a[1];
        hz += h * a[2];
        dhx += dh * a[0];
        dhy += dh * a[1];
        dhz += dh * a[2];
    }

    /* v' = (R_bn F_body + F_drag + F_contact)/m + g */
    double fn = r00 * fx + r01 * fy + r02 * fz + p->drag * an;
    double fe = r10 * fx + r11 * fy + r12 * fz + p->drag * ae;
    double fd = r20 * fx + r21 * fy + r22 * fz + p->drag * ad;
    if (x[X_POS + 2] > 0.0) {
        double normal = p->contact_k * x[X_POS + 2] + p->contact_c * max2(0.0, vd);
        double friction = p->contact_mu * normal / (sqrt(vn * vn + ve * ve) + p->contact_v_eps);
        fn -= friction * vn;
        fe -= friction * ve;
        fd -= normal;
    }
    dx[X_POS] = vn;
    dx[X_POS + 1] = ve;
    dx[X_POS + 2] = vd;
    dx[X_VEL] = fn * p->inv_mass;
    dx[X_VEL + 1] = fe * p->inv_mass;
    dx[X_VEL + 2] = fd * p->inv_mass + p->gravity;

    /* q' = 1/2 q (0, omega) */
    dx[X_QUAT] = 0.5 * (-qx * wx - qy * wy - qz * wz);
    dx[X_QUAT + 1] = 0.5 * (qw * wx + qy * wz - qz * wy);
    dx[X_QUAT + 2] = 0.5 * (qw * wy + qz * wx - qx * wz);
    dx[X_QUAT + 3] = 0.5 * (qw * wz + qx * wy - qy * wx);

    /* I omega' = tau - D omega - omega x (I omega + H) - H' */
    const double *m = p->inertia, *inv = p->inertia_inv;
    double lx = m[0] * wx + m[1] * wy + m[2] * wz + hx;
    double ly = m[3] * wx + m[4] * wy + m[5] * wz + hy;
    double lz = m[6] * wx + m[7] * wy + m[8] * wz + hz;
    double sx = tx - p->damping[0] * wx - (wy * lz - wz * ly) - dhx;
    double sy = ty - p->damping[1] * wy - (wz * lx - wx * lz) - dhy;
    double sz = tz - p->damping[2] * wz - (wx * ly - wy * lx) - dhz;
    dx[X_OMEGA] = inv[0] * sx + inv[1] * sy + inv[2] * sz;
    dx[X_OMEGA + 1] = inv[3] * sx + inv[4] * sy + inv[5] * sz;
    dx[X_OMEGA + 2] = inv[6] * sx + inv[7] * sy + inv[8] * sz;

    /* The current is never negative, so the charge only falls; held at 0. */
    dx[X_SOC] = soc > 0.0 ? -i_bus * p->inv_capacity : 0.0;
    dx[X_V1] = i_bus * p->inv_c1 - v1 * p->inv_r1c1;
}

/* After every step: unit quaternion, no negative spin, charge not below 0. */
static void project(double *x)
{
    double *q = x + X_QUAT;
    double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        q[i] /= norm;
    for (int i = 0; i < N_ROTORS; i++)
        x[X_ROTOR + i] = max2(x[X_ROTOR + i], 0.0);
    x[X_SOC] = max2(x[X_SOC], 0.0);
}

/* Classical Runge-Kutta of order 4 (Kutta 1901), inputs held over the step. */
static void rk4_step(const plant_t *p, double *x, const double *duty, const double *wind_ned, double dt)
{
    double k1[N_STATES], k2[N_STATES], k3[N_STATES], k4[N_STATES], y[N_STATES];
    double half = 0.5 * dt, sixth = dt / 6.0;
    rhs(p, x, duty, wind_ned, k1);
    for (int i = 0; i < N_STATES; i++)
        y[i] = x[i] + half * k1[i];
    rhs(p, y, duty, wind_ned, k2);
    for (int i = 0; i < N_STATES; i++)
        y[i] = x[i] + half * k2[i];
    rhs(p, y, duty, wind_ned, k3);
    for (int i = 0; i < N_STATES; i++)
        y[i] = x[i] + dt * k3[i];
    rhs(p, y, duty, wind_ned, k4);
    for (int i = 0; i < N_STATES; i++)
        x[i] += sixth * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    project(x);
}

/* Number of doubles in `params`. */
int32_t plant_param_count(void)
{
    return N_PARAMS;
}

/* One right-hand side. `duties`: motor commands before the ESC. With a bad number of OCV points every entry is NaN. */
void plant_rhs(const double *params, const double *state, const double *duties, const double *wind_ned, double *dstate)
{
    plant_t p;
    double duty[N_ROTORS];
    if (!load_params(params, &p)) {
        for (int i = 0; i < N_STATES; i++)
            dstate[i] = NAN;
        return;
    }
    esc_duties(&p, duties, duty);
    rhs(&p, state, duty, wind_ned, dstate);
}

/* Fly n_commands * steps_per_command steps of dt_s from `state`, which is overwritten with the last state.
 *
 * commands:  n_commands x 4 motor commands, each held over steps_per_command steps
 * wind_ned:  one row of 3 per step
 * log:       NULL, or the state before steps 0, log_every, 2 log_every, ...: ceil(steps / log_every) rows of 19
 *
 * Returns the number of right-hand sides, or -1 (state untouched) for a bad number of OCV points or a log with
 * log_every below 1. */
int64_t plant_run(const double *params, double *state, const double *commands, int64_t n_commands,
                  int64_t steps_per_command, const double *wind_ned, double dt_s, double *log, int64_t log_every)
{
    plant_t p;
    double x[N_STATES], duty[N_ROTORS];
    int64_t evaluations = 0, until_log = 0;
    if (!load_params(params, &p) || (log != NULL && log_every < 1))
        return -1;
    for (int i = 0; i < N_STATES; i++)
        x[i] = state[i];
    for (int64_t command = 0; command < n_commands; command++) {
        esc_duties(&p, commands + command * N_ROTORS, duty);
        for (int64_t step = 0; step < steps_per_command; step++) {
            if (log != NULL) {
                if (until_log == 0) {
                    for (int i = 0; i < N_STATES; i++)
                        log[i] = x[i];
                    log += N_STATES;
                    until_log = log_every;
                }
                until_log--;
            }
            rk4_step(&p, x, duty, wind_ned, dt_s);
            wind_ned += 3;
            evaluations += 4;
        }
    }
    for (int i = 0; i < N_STATES; i++)
        state[i] = x[i];
    return evaluations;
}
