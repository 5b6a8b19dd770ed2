#include "tool/Sizes.h"

#include "context/Parameters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace coll;
using namespace coll::tool;

static Failure setTwice(const std::string &name) {
  return {Exit::BadInput, "`--set` gives `" + name + "` twice", "one run has one value of it; say which"};
}

/// `R=16` of --set.
static void setOne(const Manifest &manifest, const std::string &word, Sizes &sizes) {
  const auto [name, value] = llvm::StringRef(word).split('=');
  if (name.empty() || value.empty()) throw Failure{Exit::BadInput, "`--set " + word + "` is not NAME=VALUE"};
  if (llvm::is_contained(manifest.extents, name.str())) {
    const auto count = parseCount(std::string_view(value.data(), value.size()));
    if (!count)
      throw Failure{Exit::BadInput, "`--set " + word + "`: an extent is a number of elements",
                    helpWithCount(std::string_view(value.data(), value.size()))};
    if (!sizes.extents.emplace(name.str(), *count).second) throw setTwice(name.str());
    return;
  }
  std::vector<std::string> known = manifest.extents;
  for (const Manifest::Scalar &scalar : manifest.scalars) {
    if (name == scalar.name) {
      if (!isScalar(value.str(), scalar.type))
        throw Failure{Exit::BadInput, "`" + scalar.name + "=" + value.str() + "`: " +
                                          (isFloatName(scalar.type) ? "no number that an " + scalar.type + " can be"
                                           : scalar.type == "rank"  ? "no whole number"
                                                                    : "no whole number of type " + scalar.type)};
      if (!sizes.scalars.emplace(scalar.name, value.str()).second) throw setTwice(scalar.name);
      return;
    }
    known.push_back(scalar.name);
  }
  throw Failure{Exit::BadInput, "`" + manifest.collective + "` has no extent or scalar `" + name.str() + "`",
                suggest(std::string_view(name.data(), name.size()), known)};
}

std::uint64_t coll::tool::bytesOf(const Manifest &manifest, const Extents &extents) {
  std::uint64_t most = 1;
  for (const Manifest::Argument &argument : manifest.arguments)
    most = std::max(most, manifest.elements(argument, extents) * sizeOf(argument.dtype));
  return most;
}

/// Extents may be worked out of this one in any way, so it is searched for.
std::uint64_t coll::tool::countWithin(const Manifest &manifest, Extents extents, const std::string &open, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t(1) << 48;
  const auto fits = [&](std::uint64_t count) {
    extents[open] = count;
    return llvm::all_of(manifest.arguments, [&](const Manifest::Argument &argument) {
      return manifest.elements(argument, extents) <= bytes / sizeOf(argument.dtype);
    });
  };
  std::uint64_t least = 0, tooMany = 1;
  while (tooMany < kMost && fits(tooMany)) least = tooMany, tooMany *= 2;
  while (tooMany - least > 1) {
    const std::uint64_t middle = least + (tooMany - least) / 2;
    (fits(middle) ? least : tooMany) = middle;
  }
  return least;
}

std::vector<std::string> coll::tool::openExtents(const Manifest &manifest, const Sizes &sizes) {
  std::vector<std::string> open;
  for (const std::string &extent : manifest.extents)
    if (!sizes.extents.count(extent)) open.push_back(extent);
  return open;
}

/// `--count` and `--bytes` give the one extent that `--set` leaves open.
static Failure wrongNumberOfExtents(const Manifest &manifest, const std::string &option, const std::vector<std::string> &open) {
  if (manifest.extents.empty())
    return {Exit::BadInput, "`" + option + "`: `" + manifest.collective + "` has no extent", "leave it out"};
  if (open.empty())
    return {Exit::BadInput, "`" + option + "` gives one extent, and `--set` gives all of them already",
            "leave out `" + option + "`, or " + (manifest.extents.size() == 1 ? "" : "one of ") + join(manifest.extents) +
                " of `--set`"};
  return {Exit::BadInput, "`" + option + "` gives one extent, and `" + manifest.collective + "` has " + join(open),
          "set all but one of them, as in --set " + open.front() + "=16"};
}

Counted coll::tool::pickCounts(const Arguments &arguments, const std::vector<std::string> &choices) {
  const std::string chosen = arguments.choice("--counts", choices);
  return chosen == "most"   ? Counted::Most
         : chosen == "half" ? Counted::Half
         : chosen == "none" ? Counted::None
                            : Counted::Random;
}

Sizes coll::tool::pickSizes(const Manifest &manifest, const Arguments &arguments) {
  Sizes sizes;
  for (const std::string &word : arguments.words("--set")) setOne(manifest, word, sizes);
  const bool hasCount = arguments.has("--count"), hasBytes = arguments.has("--bytes");
  if (!hasCount && !hasBytes) return sizes;
  if (hasCount && hasBytes) throw Failure{Exit::BadInput, "`--count` and `--bytes` say the same; give one of them"};

  const std::vector<std::string> open = openExtents(manifest, sizes);
  if (open.size() != 1) throw wrongNumberOfExtents(manifest, hasCount ? "--count" : "--bytes", open);
  std::uint64_t count = arguments.number("--count", 0, 0, UINT64_MAX);
  if (hasBytes) {
    const std::uint64_t bytes = arguments.number("--bytes", 0, 0, UINT64_MAX);
    count = countWithin(manifest, sizes.extents, open.front(), bytes);
    const auto bytesAt = [&](std::uint64_t elements) {
      Extents all = sizes.extents;
      all[open.front()] = elements;
      return bytesOf(manifest, all);
    };
    if (const std::uint64_t exact = count ? bytesAt(count) : 0; exact != bytes)
      throw Failure{Exit::BadInput,
                    "`--bytes " + arguments.text("--bytes") + "`: no `" + open.front() + "` makes the largest argument that long",
                    "`" + open.front() + "` = " + std::to_string(count) + " makes it " + std::to_string(exact) + " bytes long, and " +
                        std::to_string(count + 1) + " " + std::to_string(bytesAt(count + 1))};
  }
  sizes.extents[open.front()] = count;
  return sizes;
}
