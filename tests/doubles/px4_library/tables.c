/* The generated tables. */
#define DEFINE_TABLES
#include "double.h"
