// The names of the device headers that generated text may use, by header.
#include "codegen/Includes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace coll::codegen {

namespace {

struct Header {
  llvm::StringRef file;
  std::vector<llvm::StringRef> names; ///< what it declares in `coll`, namespaces too
};

/// In the order in which the headers use each other. The first comes with every other but those of `comesWithout`.
const std::vector<Header> &headers() {
  static const std::vector<Header> list = {
      {"packet", {"u8", "u16", "u32", "u64", "F16", "BF16", "Team", "Launch", "rankAt", "hopTo", "OnePacket", "AnyPackets",
                  "WholePackets", "Packet", "load", "store", "reaches"}},
      {"chunks", {"Chunks", "kMostChunks"}},
      {"reduce", {"Sum", "Prod", "Min", "Max", "Avg", "combine"}},
      {"float8", {"F8E4M3", "F8E5M2"}},
      {"ll", {"ll"}},
      {"ll16", {"ll16"}},
      {"ll128", {"ll128"}},
      {"wide", {"wide"}},
      {"sentinel", {"sentinel"}},
      {"flag", {"flag"}},
      {"counter", {"counter"}},
      {"counter16", {"counter16"}},
      {"counter128", {"counter128"}},
      {"credit", {"Credits"}},
      {"plain", {"plain"}},
      {"kept", {"Kept"}},
      {"slots", {"readSlot", "reduceSlots", "eachSlot"}},
      {"counted", {"Counted", "CountedRows", "CountedInChunks", "Messages", "eachMessage", "eachMessageOfChunk", "readMessage", "readMessageRow", "eachMessageRow", "countAt", "atLeastOne", "loadFirst", "storeFirst", "storeCount"}},
      {"arithmetic", {"Elements", "Floats", "NumberOf", "Number", "widen", "narrow", "nearest", "as", "numberOf", "min", "max", "abs", "exp", "rsqrt", "inverse", "reduceSlotsWide",
                      "loadElements", "storeElements", "storeFirstElements", "storeFloats"}},
      {"kept_wide", {"KeptElements"}},
      {"rows", {"OneRowPacket", "AnyRowPackets", "forRows", "forRowsOfMessages", "kRowPackets", "RowSum", "RowMax"}},
      {"row_numbers", {"sendNumber", "readNumber", "sendGroupNumber", "readGroupNumber"}},
      {"split", {"Pieces", "RowPieces"}},
      {"index", {"floorDiv", "shiftLeft", "floorLog2", "isPowerOf2"}},
      {"bulk", {"bulk"}},
      {"window", {"reduceRanks"}},
      {"window_wide", {"reduceRanksWide"}},
      {"multicast", {"sendToAll", "sendToOthers", "storeToAll", "reduceAll"}},
      {"wide_multicast", {"sendLinesToAll", "sendLinesToOthers"}},
      {"trace", {"stamp", "stampFirst", "kEntered", "kMayRun", "kSends", "kReceived", "kFinished"}},
  };
  return list;
}

/// Whether a header is one of those that know nothing of packets.
bool comesWithout(llvm::StringRef file) {
  return file == "chunks" || file == "credit" || file == "split" || file == "index" || file == "trace";
}

/// The names that follow `coll::` in the text, its comments too.
llvm::StringSet<> namesIn(llvm::StringRef text) {
  constexpr llvm::StringLiteral kScope = "coll::";
  llvm::StringSet<> names;
  for (std::size_t at = text.find(kScope); at != llvm::StringRef::npos; at = text.find(kScope, at)) {
    at += kScope.size();
    names.insert(text.substr(at).take_while([](char c) { return llvm::isAlnum(c) || c == '_'; }));
  }
  return names;
}

} // namespace

std::vector<llvm::StringRef> includesFor(llvm::StringRef text) {
  llvm::StringSet<> names = namesIn(text);
  std::vector<llvm::StringRef> files;
  for (const Header &header : headers()) {
    bool needed = false;
    for (llvm::StringRef name : header.names) needed |= names.erase(name);
    if (needed) files.push_back(header.file);
  }
  // A name that the list lacks: right, if slower, and test/codegen/includes.test shows it.
  if (!names.empty()) return {"device"};
  if (!llvm::all_of(llvm::drop_begin(files), comesWithout)) files.erase(files.begin());
  return files;
}

} // namespace coll::codegen
