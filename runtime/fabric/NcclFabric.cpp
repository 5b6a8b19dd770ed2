// A GPU for each rank, all in this process, over NCCL's symmetric windows.
#include "fabric/Fabric.h"
#include "fabric/NcclRegion.h"

#include <utility>

namespace coll {
namespace {

class NcclFabric final : public Fabric {
public:
  NcclFabric(const Gpus &gpus, const Nccl &nccl, int ranks) : gpus(gpus), nccl(nccl) {
    for (int rank = 0; rank < ranks; ++rank) seats.push_back({rank, nullptr, &gpus.list[std::size_t(rank)]});
  }
  ~NcclFabric() override {
    multicast.reset();
    for (const NcclSeat &seat : seats)
      if (seat.comm) nccl.commDestroy(seat.comm);
  }

  FabricKind kind() const override { return FabricKind::Nccl; }
  int ranks() const override { return int(seats.size()); }
  int gpuOf(int rank) const override { return rank; }
  std::string describe() const override { return "nccl " + nccl.versionText() + (multicast ? " with multicast" : ""); }
  NcclComm communicator(int rank) const override { return seats[std::size_t(rank)].comm; }

  Result<void> connect(bool wantsMulticast) {
    if (auto done = initialise(); !done || !wantsMulticast) return done;
    auto asked = std::make_unique<NcclMulticast>(nccl);
    if (!asked->mayHave(gpus.cuda, seats, ranks())) return {};
    if (asked->map(gpus.cuda, seats, ranks())) {
      multicast = std::move(asked);
      return {};
    }
    // NCCL may have given up on communicators that it refused something: begin anew without multicast.
    asked.reset();
    for (NcclSeat &seat : seats) nccl.commAbort(std::exchange(seat.comm, nullptr));
    return initialise();
  }

  Result<std::unique_ptr<SymmetricRegion>> allocate(std::uint64_t bytes) override {
    auto region = std::make_unique<NcclRegion>(gpus.cuda, nccl, seats, ranks(), multicast.get());
    if (auto done = region->allocate(bytes); !done) return done.error();
    if (auto done = region->registerWindows(); !done) return done.error();
    if (auto done = region->resolve(); !done) return done.error();
    return std::unique_ptr<SymmetricRegion>(std::move(region));
  }

private:
  Result<void> initialise() {
    std::vector<int> devices;
    for (const NcclSeat &seat : seats) devices.push_back(seat.gpu->ordinal);
    std::vector<NcclComm> comms(seats.size());
    auto done = nccl.check(nccl.commInitAll(comms.data(), ranks(), devices.data()), "ncclCommInitAll");
    for (std::size_t i = 0; done && i < seats.size(); ++i) seats[i].comm = comms[i];
    return done;
  }

  const Gpus &gpus;
  const Nccl &nccl;
  std::vector<NcclSeat> seats;              ///< [rank]
  std::unique_ptr<NcclMulticast> multicast; ///< null: none
};

} // namespace

Result<std::unique_ptr<Fabric>> createNcclFabric(const Gpus &gpus, const Nccl &nccl, int ranks, bool multicast) {
  if (ranks > int(gpus.list.size()))
    return Error{Error::Code::MachineLacks, "the nccl fabric needs a GPU for each of " + std::to_string(ranks) +
                                                " ranks; there are " + std::to_string(gpus.list.size())};
  auto fabric = std::make_unique<NcclFabric>(gpus, nccl, ranks);
  if (auto done = fabric->connect(multicast); !done) return done.error();
  return std::unique_ptr<Fabric>(std::move(fabric));
}

} // namespace coll
