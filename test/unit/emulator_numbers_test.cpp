// Conversions and arithmetic of the emulated device against independent ones.
#include "emulator_fixture.h"

using namespace coll::emu;
using namespace coll::emu::test;

TEST(EmulatorNumbers, Placeholder) {}
