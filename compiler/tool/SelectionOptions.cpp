#include "tool/SelectionOptions.h"

#include "coll/coll.h"
#include "platform/Env.h"
#include "selection/Table.h"
#include "tool/OrFail.h"

using namespace coll;
using namespace coll::tool;

SelectionOptions coll::tool::selectionOptions(const Arguments &arguments) {
  SelectionOptions options;
  std::string file = arguments.text("--table");
  if (file.empty()) file = env::get(env::Variable::Table).value_or("");
  if (!file.empty()) {
    options.table = orFail(readSource(file));
    orFail(selection::Table::parse(options.table, file)); // with the file's name in the message
  }
  options.gpu = arguments.text("--gpu");
  if (arguments.has("--order")) options.order = arguments.choice("--order", {"ascending", "fixed"});
  options.nccl = !arguments.has("--no-nccl");
  options.multicast = arguments.has("--multicast");
  return options;
}
