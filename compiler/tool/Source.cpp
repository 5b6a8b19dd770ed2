#include "tool/Source.h"

#include "parse/Parser.h"
#include "tool/Arguments.h"
#include "tool/Output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>

#include <sys/stat.h>

using namespace coll;
using namespace coll::tool;

/// More text than any person writes: a mistake in the file's name. What is not a file may never end, as a device or a
/// pipe does, and so is read no further than the compiler takes.
static std::string readText(std::FILE *file) {
  struct stat status;
  const bool ends = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
  const std::size_t most = ends ? 64 * maxSourceBytes : maxSourceBytes;
  if (ends && static_cast<std::uint64_t>(status.st_size) > most) throw std::length_error("it has more than 64 MiB");
  std::string text;
  for (std::size_t more = 1; more && text.size() <= most;) {
    const std::size_t before = text.size();
    text.resize(before + std::max<std::size_t>(before, 1 << 16));
    more = std::fread(text.data() + before, 1, text.size() - before, file);
    text.resize(before + more);
  }
  if (text.size() > most) throw std::length_error("it has more than 1 MiB");
  return text;
}

static std::string readFile(const std::string &name) {
  const auto fail = [&](const std::string &why) { return Failure{Exit::BadInput, "cannot read `" + name + "`: " + why}; };
  struct stat status;
  if (name != "-" && stat(name.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) throw fail("it is a folder");
  const std::unique_ptr<std::FILE, int (*)(std::FILE *)> opened(name == "-" ? nullptr : std::fopen(name.c_str(), "rb"),
                                                                std::fclose);
  if (name != "-" && !opened) throw fail(std::generic_category().message(errno));
  std::FILE *const file = opened ? opened.get() : stdin;
  try {
    std::string text = readText(file);
    if (std::ferror(file)) throw fail("an error while reading");
    return text;
  } catch (const std::length_error &error) {
    throw fail(error.what());
  }
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

Kernel coll::tool::compileInstance(const Program &program, const Instance &instance, const CompileOptions &options,
                                   bool quiet) {
  Diagnostics diagnostics;
  std::optional<Kernel> kernel = program.compile(instance, options, diagnostics);
  if (!kernel || !quiet) printMessage(diagnostics.render());
  if (kernel) return std::move(*kernel);
  Diagnostics repeated;
  const std::optional<CheckResult> verdict = program.check(instance, repeated, {options.strict, false});
  throw Failure{verdict && !verdict->proved ? Exit::Refuted : Exit::BadInput, ""};
}
