#include "bench/MemberRival.h"

#include "bench/Bench.h"

namespace coll::bench {
namespace {

class Member final : public Rival {
public:
  Member(Collective collective, Context &context, const Stopwatch &watch, std::vector<Scalar> scalars)
      : collective(collective), context(context), watch(watch), scalars(std::move(scalars)) {}

  std::string name() const override { return memberName(collective.manifest()); }
  Traffic traffic() const override { return trafficOf(collective.manifest().algorithm); }
  /// The order of the reference, or one that rounds alike for two. Sums in memory lose what is below the smallest normal
  /// number, too (ptx::addFloats16).
  bool exact() const override {
    const Manifest &manifest = collective.manifest();
    return manifest.order == "ascending" || (manifest.order == "fixed" && manifest.ranks <= 2);
  }
  bool takes(std::uint64_t elements) const override {
    return collective.manifest().capacity == 0 || elements <= collective.manifest().capacity;
  }
  Result<void> enqueue(const Operation &operation) override {
    for (int rank = 0; rank < context.ranks(); ++rank)
      if (auto done = collective.launch(rank, operation.pointers[std::size_t(rank)], operation.extents, scalars,
                                        watch.stream(rank), operation.shape);
          !done)
        return done;
    return {};
  }
  Result<std::vector<void *>> memory(std::uint64_t bytes) override {
    std::vector<void *> all;
    // Symmetric for all, so that members can share it whether they have windows or not.
    auto buffer = context.allocateSymmetric(bytes);
    if (!buffer) return buffer.error();
    for (int rank = 0; rank < context.ranks(); ++rank) all.push_back(buffer->address(rank));
    return all;
  }
  void abort() override { context.abort(); }

private:
  Collective collective;
  Context &context;
  const Stopwatch &watch;
  std::vector<Scalar> scalars;
};

} // namespace

std::unique_ptr<Rival> memberRival(Collective collective, Context &context, const Stopwatch &watch,
                                   std::vector<Scalar> scalars) {
  return std::make_unique<Member>(collective, context, watch, std::move(scalars));
}

} // namespace coll::bench
