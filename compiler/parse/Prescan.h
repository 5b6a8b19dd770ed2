// What can be said of a text before it is parsed, so that no input can make the parser slow or its stack overflow.
#pragma once

#include "support/Diagnostics.h"

namespace coll {

/// False after reporting the first of: too long, a NUL byte, not UTF-8, a character that is in no token, brackets
/// nested too deeply.
bool prescan(const Sources::File &source, DiagnosticEngine &diagnostics);

} // namespace coll
