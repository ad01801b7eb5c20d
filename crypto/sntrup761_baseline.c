#include "sntrup761_lanes.h"

const struct sntrup761_kernel sntrup761_baseline = {sort, multiply};
