#include "double.h"
void navigator_start(void) {}
void navigator_run(uint64_t t) { (void)t; }
void flight_start(void) {}
void flight_mode_manager_run(uint64_t t) { (void)t; }
void position_control_run(uint64_t t) { (void)t; }
void attitude_control_run(uint64_t t) { (void)t; }
void rate_control_run(uint64_t t) { (void)t; }
void allocator_start(void) {}
void allocator_run(uint64_t t) { (void)t; }
void checks_start(void) {}
void check_time(uint64_t t) { (void)t; }
void check_message(int topic, int instance, const void *message, uint64_t t) { (void)topic; (void)instance; (void)message; (void)t; }
void check_step(uint64_t t) { (void)t; }
