// `coll emit`: prints what one instance becomes, at any stage.
#include "jit/Jit.h"
#include "tool/OrFail.h"
#include "tool/Output.h"
#include "tool/Selection.h"
#include "tool/Source.h"

#include <algorithm>

using namespace coll;
using namespace coll::tool;

static std::vector<std::string> passesToDump(const Arguments &arguments) {
  const std::vector<std::string> given = arguments.words("--dump-after");
  std::vector<std::string> known{"all"};
  for (const auto &[name, summary] : listPasses()) known.push_back(name);
  for (const std::string &name : given)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Failure{Exit::BadInput, "`--dump-after " + name + "` is no pass",
                    (nearest(name, known).empty() ? "" : suggest(name, known) + " ") + "There is " + join(known)};
  return given;
}

static std::string dumpText(const Kernel &kernel) {
  std::string text;
  for (const auto &[pass, ir] : kernel.dumps) text += "// after " + pass + "\n" + ir + "\n";
  return text;
}

static std::string build(const Kernel &kernel, const Arch &arch, Stage stage) {
  const Jit jit = orFail(Jit::create());
  return orFail(jit.compile(kernel, arch, stage)).bytes;
}

static Exit emit(const Arguments &arguments) {
  const std::string stage = arguments.choice("--stage", {"cuda", "ast", "ir", "ptx", "cubin", "manifest"});
  const std::string file = arguments.text("-o");
  const bool built = stage == "ptx" || stage == "cubin";
  if (arguments.has("--arch") && !built)
    throw Failure{Exit::BadInput, "`--arch` says nothing about stage `" + stage + "`",
                  "the CUDA text is the same for every architecture; --stage ptx or cubin builds it for one"};
  const Arch arch = orFail(Arch::parse(arguments.text("--arch", "sm_90")));
  if (stage == "cubin" && (file.empty() || file == "-") && outputIsTerminal())
    throw Failure{Exit::BadInput, "a cubin is binary", "write it to a file with -o"};

  CompileOptions options;
  options.unchecked = arguments.has("--unchecked");
  options.trace = arguments.has("--trace");
  options.strict = arguments.has("--strict");
  options.dumpAfter = passesToDump(arguments);
  const auto program = loadProgram(arguments.what());
  if (stage == "ast") {
    writeResult(file, program->printAst());
    return Exit::Good;
  }
  const Member &member = pickMember(*program, arguments);
  const Kernel kernel = compileInstance(*program, pickInstance(member, arguments), options);
  if (!options.dumpAfter.empty() && !arguments.has("--stage")) {
    writeResult(file, dumpText(kernel));
    return Exit::Good;
  }
  printMessage(dumpText(kernel));
  writeResult(file, stage == "cuda"       ? kernel.cuda
                    : stage == "ir"       ? kernel.ir
                    : stage == "manifest" ? kernel.manifest.toJson()
                                          : build(kernel, arch, stage == "ptx" ? Stage::Ptx : Stage::Cubin));
  return Exit::Good;
}

namespace coll::tool {
extern const Verb emitVerb;
const Verb emitVerb{
    "emit",
    "WHAT",
    "print what an algorithm becomes, at any stage",
    {option::algo,
     option::ranks,
     option::dtype,
     option::op,
     {"--stage", "S", "ast, ir, cuda, ptx, cubin or manifest; cuda if not given. ptx and cubin need NVRTC"},
     {"--arch", "sm_XX", "architecture of ptx and cubin; sm_90 if not given"},
     {"-o", "F", "write to this file, all or nothing; `-` is standard output, as without it"},
     {"--dump-after", "P,P,...",
      "print the IR after these passes, or after `all`; on standard error if --stage is given"},
     {"--trace", "", "with clock stamps, as `coll bench --trace` runs it"},
     {"--strict", "", "rely on the PTX memory model alone: fences where otherwise hardware is relied upon"},
     {"--unchecked", "", "emit it although the checker refutes it"}},
    "coll emit allreduce --algo oneshot.ll -n 8                                    the CUDA text\n"
    "coll emit mine.coll -n 2 --dtype bf16 --stage cubin --arch sm_90 -o mine.cubin\n",
    emit};
} // namespace coll::tool
