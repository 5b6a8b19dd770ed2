// The device headers' layout of a region and of what a launch passes, for the host side of the emulator.
#pragma once

#define __device__
#include "coll/region.h"
#undef __device__
