#include "tool/FirstEpoch.h"

#include "context/LaunchPlan.h"

#include "llvm/ADT/StringRef.h"

using namespace coll;

std::uint32_t coll::tool::pickFirstEpoch(const Manifest &manifest, const Arguments &arguments, std::uint32_t otherwise) {
  if (!arguments.has("--first-epoch")) return otherwise;
  const std::uint64_t wraps = std::uint64_t(LaunchPlan(manifest).lastEpoch()) + 1;
  const std::string given = arguments.text("--first-epoch");
  llvm::StringRef digits = given;
  const bool back = digits.consume_front("wrap-");
  std::uint64_t number = 0;
  const bool read = !digits.getAsInteger(!back && digits.consume_front("0x") ? 16 : 10, number);
  const std::uint64_t epoch = back ? wraps - std::min(number, wraps) : number;
  if (read && epoch >= 1 && epoch <= wraps) return std::uint32_t(epoch);
  throw Failure{Exit::BadInput, "`--first-epoch " + given + "` is not the number of a launch",
                "launches of `" + manifest.member + "` have the numbers 1 to " + std::to_string(wraps) +
                    "; wrap-K is K before the last"};
}
