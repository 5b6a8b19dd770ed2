// The executable `coll`: finds the verb, runs it, and turns whatever happened into one message and an exit code.
#include "emulator/TemporaryFolder.h"
#include "tool/Arguments.h"
#include "tool/OrFail.h"
#include "tool/Output.h"

#include <csignal>
#include <exception>
#include <new>
#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace coll::tool;

namespace coll::tool {
#define COLL_VERB(name) extern const Verb name##Verb;
#include "tool/Verbs.def"
} // namespace coll::tool

static const Verb *const verbs[] = {
#define COLL_VERB(name) &coll::tool::name##Verb,
#include "tool/Verbs.def"
};

static std::string overview() {
  std::string text = "coll: proves, prints and runs GPU collectives written in the Coll language\n\n"
                     "usage: coll VERB ...\n\n";
  for (const Verb *verb : verbs) {
    std::string line = "  " + std::string(verb->name) + " " + std::string(verb->operands);
    line.resize(18, ' ');
    text += line + std::string(verb->summary) + "\n";
  }
  text += "\n`coll VERB --help` tells more about one of them; `coll --version` says which version this is.\n"
          "Exit codes: 0 good; 1 refuted, not proved or wrong result; 2 bad usage or input, or a mistake of Coll's own, "
          "which the message says; 3 this machine lacks what was asked "
          "for.\n\n"
          "example:\n"
          "  coll check allreduce                          prove every all-reduce of the standard library\n"
          "  coll emit allreduce --algo oneshot.ll -n 8    print the CUDA of one\n"
          "  coll run allreduce --algo oneshot.ll -n 8     run it, on the GPUs here or on emulated ranks\n";
  return text;
}

static Exit perform(const Verb &verb, const std::vector<std::string> &words) {
  if (!verb.run)
    throw Failure{Exit::BadInput, "`coll " + std::string(verb.name) + "` is not there yet in version " COLL_VERSION};
  Arguments arguments(verb, words);
  if (!arguments.help) return verb.run(arguments);
  print(verb.help());
  return Exit::Good;
}

static Exit dispatch(const std::vector<std::string> &words) {
  if (words.empty()) {
    printMessage(overview());
    return Exit::BadInput;
  }
  const std::string &first = words.front();
  if (first == "--help" || first == "-h" || (first == "help" && words.size() == 1)) {
    print(overview());
    return Exit::Good;
  }
  if (first == "--version") {
    print("coll " COLL_VERSION "\n");
    return Exit::Good;
  }
  const bool askedForHelp = first == "help";
  const std::string &name = askedForHelp ? words[1] : first;
  std::vector<std::string> names;
  for (const Verb *verb : verbs) {
    names.emplace_back(verb->name);
    if (verb->name != name) continue;
    return perform(*verb, askedForHelp ? std::vector<std::string>{"--help"}
                                       : std::vector<std::string>(words.begin() + 1, words.end()));
  }
  throw Failure{Exit::BadInput, (name[0] == '-' ? "unknown option `" : "unknown verb `") + name + "`",
                suggest(name, names)};
}

/// Proofs for many ranks take and leave megabytes at a time, whose pages would go back to the system and come again
/// cleared, which takes longer than the work on them.
static void keepMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

static void endTidily(int signal) {
  coll::emu::leaveNothingBehind();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Whoever is interrupted leaves no files behind. What is ignored, as `nohup` does, stays so.
static void prepareSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, endTidily) == SIG_IGN) std::signal(signal, SIG_IGN);
}

int main(int count, char **words) {
  keepMemory();
  prepareStreams();
  prepareSignals();
  try {
    return static_cast<int>(dispatch({words + (count > 0), words + count}));
  } catch (const Failure &failure) {
    printFailure(failure);
    return static_cast<int>(failure.code);
  } catch (const std::bad_alloc &) {
    printFailure({Exit::Lacking, "out of memory"});
    return static_cast<int>(Exit::Lacking);
  } catch (const std::exception &error) {
    printFailure({Exit::Internal, std::string("internal error: ") + error.what(), kAskToReport});
    return static_cast<int>(Exit::Internal);
  }
}
