#include "tool/Source.h"

#include "tool/Arguments.h"
#include "tool/Output.h"

#include "llvm/Support/MemoryBuffer.h"

#include <sys/stat.h>

using namespace coll;
using namespace coll::tool;

/// More text than any person writes: a mistake in the file's name, found before it is parsed.
static constexpr std::uint64_t kLongestFile = 64 << 20;

static std::string readFile(const std::string &name) {
  struct stat status;
  if (stat(name.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw Failure{Exit::BadInput, "cannot read `" + name + "`: it is a folder"};
    if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) > kLongestFile)
      throw Failure{Exit::BadInput, "cannot read `" + name + "`: it has more than 64 MiB"};
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(name);
  if (!buffer) throw Failure{Exit::BadInput, "cannot read `" + name + "`: " + buffer.getError().message()};
  return (*buffer)->getBuffer().str();
}

/// Neither a file nor in the library: what may have been meant.
[[noreturn]] static void failToFind(const std::string &what) {
  const std::vector<std::string> names = standardLibrary();
  const std::string near = nearest(what, names);
  throw Failure{Exit::BadInput, "there is no file `" + what + "`, and the standard library has no such collective",
                near.empty() ? "the library has " + join(names) : "did you mean `" + near + "`?"};
}

static bool isRemark(const Diagnostic &diagnostic) {
  return diagnostic.severity == Severity::Remark;
}

std::unique_ptr<Program> coll::tool::parseProgram(const std::string &what, Diagnostics &diagnostics) {
  if (std::optional<std::string> library = standardLibraryText(what)) {
    auto program = Program::parse(std::move(*library), what + ".coll", diagnostics);
    std::erase_if(diagnostics.list, isRemark); // they are for who can change the text
    return program;
  }
  struct stat status;
  const bool looksLikeFile = what.find_first_of("/.") != std::string::npos || what == "-";
  if (!looksLikeFile && stat(what.c_str(), &status) != 0) failToFind(what);
  return Program::parse(readFile(what), what == "-" ? "<stdin>" : what, diagnostics);
}

std::unique_ptr<Program> coll::tool::loadProgram(const std::string &what, bool remarks) {
  Diagnostics diagnostics;
  auto program = parseProgram(what, diagnostics);
  if (!remarks) std::erase_if(diagnostics.list, isRemark);
  printMessage(diagnostics.render());
  if (!program) throw Failure{Exit::BadInput, ""};
  return program;
}

Kernel coll::tool::compileInstance(const Program &program, const Instance &instance, const CompileOptions &options) {
  Diagnostics diagnostics;
  std::optional<Kernel> kernel = program.compile(instance, options, diagnostics);
  printMessage(diagnostics.render());
  if (kernel) return std::move(*kernel);
  Diagnostics repeated;
  const std::optional<CheckResult> verdict = program.check(instance, repeated, {options.strict, false});
  throw Failure{verdict && !verdict->proved ? Exit::Refuted : Exit::BadInput, ""};
}
