#include "parse/SyntaxError.h"

#include "CollParser.h"
#include "parse/Parser.h"

#include <optional>

namespace coll {

namespace {

using grammar::CollParser;

/// How a construct is written; shown as help when one is malformed.
struct Form {
  std::size_t rule;
  const char *construct; ///< with its article
  const char *form;
};

constexpr Form forms[] = {
    {CollParser::RuleUse, "`use`", "use NAME"},
    {CollParser::RuleCollective, "a collective",
     "collective NAME<T in numeric, op in {sum, max}>(in x: T[M], out y: T[M])"},
    {CollParser::RuleGenerics, "a list of parameters", "<T in numeric, op in {sum, max}>"},
    {CollParser::RuleGeneric, "a parameter", "NAME in {A, B}"},
    {CollParser::RuleNameSet, "a set of names", "{A, B}"},
    {CollParser::RuleParam, "an argument", "in x: T[M]"},
    {CollParser::RuleInplace, "`inplace`", "inplace(y = x)"},
    {CollParser::RuleInplacePair, "`inplace`", "inplace(y = x)"},
    {CollParser::RuleReplicated, "`replicated`", "replicated(gamma)"},
    {CollParser::RuleEnsures, "`ensures`", "ensures CONDITION"},
    {CollParser::RuleQuantifier, "`ensures forall`", "ensures forall r in ranks: CONDITION"},
    {CollParser::RuleAlgorithm, "an algorithm",
     "algorithm NAME<S in {ll, flag}> for COLLECTIVE on lsa(2..72) when bytes <= 256Ki { STATEMENTS }"},
    {CollParser::RuleLevel, "a team", "lsa(2..72)"},
    {CollParser::RuleWorkspace, "a workspace", "workspace NAME { allreduce.oneshot.ll, allreduce.twoshot.ll }"},
    {CollParser::RuleMemberName, "the name of a member", "allreduce.oneshot.ll"},
    {CollParser::RuleMailbox, "a mailbox", "mailbox NAME[SLOTS] of TYPE [counted] sync MODE [reuse RULE] [depth D]"},
    {CollParser::RuleSlots, "the slots of a mailbox", "mailbox NAME[SLOTS] of TYPE [counted] sync MODE [reuse RULE] [depth D]"},
    {CollParser::RuleWindow, "a window", "window NAME sync MODE"},
    {CollParser::RuleView, "a view", "view X = split(x, N)"},
    {CollParser::RuleViewItem, "a view", "view X = split(x, N)"},
    {CollParser::RuleLet, "`let` or `var`", "let NAME = EXPRESSION"},
    {CollParser::RuleSend, "`send`", "send EXPRESSION to p.box[i]"},
    {CollParser::RuleTransfer, "a statement", "`x -> p.box[i]` or `y = EXPRESSION`"},
    {CollParser::RuleBarrier, "a barrier", "`entry barrier`, `exit barrier` or `barrier`"},
    {CollParser::RuleForall, "`forall`", "forall p in ranks: STATEMENT"},
    {CollParser::RuleForLoop, "`for`", "for s in FIRST .. LAST: STATEMENT"},
    {CollParser::RulePipeline, "`pipeline`", "pipeline c in 0 .. chunks(v, SIZE) { STATEMENTS }"},
    {CollParser::RuleIfElse, "`if`", "if CONDITION: STATEMENT"},
    {CollParser::RuleTune, "`tune`", "tune ctas {1, 2, 4}, threads {128, 256}"},
    {CollParser::RuleTuneAxis, "`tune`", "tune ctas {1, 2, 4}, threads {128, 256}"},
    {CollParser::RuleTuneValue, "`tune`", "tune ctas {1, 2, 4}, threads {128, 256}"},
    {CollParser::RuleReduce, "`reduce`", "reduce(op, r in ranks: box[r])"},
    {CollParser::RuleReduceOp, "`reduce`", "reduce(op, r in ranks: box[r])"},
};

std::string quoted(const std::string &form) {
  return form.find('`') == form.npos ? "`" + form + "`" : form;
}

/// The innermost construct that has a form of its own.
const Form *formOf(antlr4::RuleContext *context) {
  for (; context; context = dynamic_cast<antlr4::RuleContext *>(context->parent))
    for (const Form &form : forms)
      if (form.rule == context->getRuleIndex()) return &form;
  return nullptr;
}

bool isWord(const std::string &text) {
  return !text.empty() && (std::isalpha(text[0]) || text[0] == '_');
}

std::string found(antlr4::Token *token) {
  if (token->getType() == antlr4::Token::EOF) return "the end of the file";
  std::string text = token->getText();
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return token->getType() != CollParser::ID && isWord(text) ? "the keyword `" + text + "`" : "`" + text + "`";
}

/// The tokens as a person would name them. Those that would merely go on with the expression before are left out.
std::string wordsFor(const antlr4::misc::IntervalSet &tokens, const antlr4::dfa::Vocabulary &vocabulary) {
  std::vector<std::string> words;
  bool afterOperand = false;
  for (ssize_t token : tokens.toList()) afterOperand |= vocabulary.getLiteralName(token) == "'as'";
  auto has = [&](ssize_t token) { return tokens.contains(token); };
  bool identifier = has(CollParser::ID), number = has(CollParser::FLOAT);
  for (ssize_t token : tokens.toList()) {
    std::string literal = vocabulary.getLiteralName(token);
    if (literal.size() < 3) continue;
    std::string text = literal.substr(1, literal.size() - 2);
    static const std::vector<std::string> continuing = {".", "[", "(", "*",  "/",  "%",  "+",  "-",  "<<",  ">>",
                                                        "^", "<", ">", "<=", ">=", "==", "!=", "as", "and", "or"};
    if (isWord(text) && identifier) continue; // a keyword that may be a name, or begin an expression
    if (!(afterOperand || number) || std::find(continuing.begin(), continuing.end(), text) == continuing.end())
      words.push_back("`" + text + "`");
  }
  if (identifier && number)
    words = {"an expression"};
  else if (identifier)
    words.insert(words.begin(), "a name");
  else if (has(CollParser::INT))
    words.insert(words.begin(), "a number");
  if (words.empty()) return "something else";
  std::string out = words[0];
  for (std::size_t i = 1; i < words.size(); ++i) out += (i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

bool beside(antlr4::Token *left, antlr4::Token *right) { return left->getStopIndex() + 1 == right->getStartIndex(); }

/// What other languages have and this one has not, if that is what stands at or before a token: an arrow to the left, and
/// units of sizes.
std::optional<SyntaxError> foreignForm(antlr4::Parser *parser, antlr4::Token *token) {
  antlr4::TokenStream *tokens = parser->getTokenStream();
  const std::size_t at = token->getTokenIndex(), first = std::min(at, parser->getContext()->getStart()->getTokenIndex());
  if (at > 0 && token->getType() == CollParser::ID) {
    antlr4::Token *before = tokens->get(at - 1);
    std::string unit = token->getText();
    for (char &c : unit) c = char(std::toupper(static_cast<unsigned char>(c)));
    if (unit.size() > 1 && unit.back() == 'B') unit.pop_back();
    if (unit.size() > 1 && unit.back() == 'I') unit.pop_back();
    if (before->getType() == CollParser::SIZE && unit == "B") // `64KiB`
      return SyntaxError{DiagnosticKind::Syntax, rangeOf(token), "a size has no `B`", "write `" + before->getText() + "`"};
    if (before->getType() == CollParser::INT && beside(before, token) && (unit == "K" || unit == "M" || unit == "G"))
      return SyntaxError{DiagnosticKind::Syntax, rangeOf(token), "`" + token->getText() + "` is no unit of a size",
                         "sizes have the units `Ki`, `Mi` and `Gi`: write `" + before->getText() + unit + "i`"};
  }
  for (std::size_t i = first; i + 1 <= at && i + 1 < tokens->size(); ++i) {
    antlr4::Token *left = tokens->get(i), *right = tokens->get(i + 1);
    if (left->getText() == "<" && right->getText() == "-" && beside(left, right))
      return SyntaxError{DiagnosticKind::Syntax, {rangeOf(left).begin, rangeOf(right).end}, "a send has its arrow to the right",
                         "write `x -> p.box[i]`: the value first, then the slot that it goes to"};
  }
  return std::nullopt;
}

/// How a clause looks of which a contract has one; null for any other word.
const char *onceInContract(std::string_view word) {
  return word == "inplace" ? "inplace(y = x, u = t)" : word == "replicated" ? "replicated(x, gamma)" : nullptr;
}

[[noreturn]] void fail(antlr4::Parser *parser, antlr4::Token *token) {
  if (auto foreign = foreignForm(parser, token)) throw *foreign;
  antlr4::ParserRuleContext *context = parser->getContext();
  std::size_t rule = context->getRuleIndex();
  SyntaxError error{DiagnosticKind::Syntax, rangeOf(token), {}, {}};
  if (rule == CollParser::RuleVersion || (rule == CollParser::RuleFile && token->getTokenIndex() == 0)) {
    error.kind = DiagnosticKind::Version;
    error.message = "the file does not begin with the version of the language";
    error.help = "write `coll 1` on its first line";
    throw error;
  }
  const Form *form = formOf(context);
  if (rule == CollParser::RuleFile || rule == CollParser::RuleItem)
    if (const char *example = onceInContract(token->getText())) {
      error.message = "`" + token->getText() + "` stands once in a contract, behind its arguments and before `ensures`";
      error.help = std::string("write all in it, `inplace` before `replicated`: `") + example + "`";
      throw error;
    }
  if (rule == CollParser::RuleFile || rule == CollParser::RuleItem) {
    error.message = "expected `use`, `collective`, `algorithm` or `workspace`, found " + found(token);
  } else if (rule == CollParser::RuleBraces && token == context->getStart()) {
    // Only an algorithm goes straight to its braces; anything else has `:` as a choice and fails before.
    error.message = "expected `when`, `order`, `outofplace` or `{` in an algorithm, found " + found(token);
    if (form) error.help = "the form is " + quoted(form->form);
  } else if (rule == CollParser::RuleBraces) {
    error.message = "expected a statement or `}`, found " + found(token);
  } else if (rule == CollParser::RuleStatement) {
    error.message = "expected a statement, found " + found(token);
  } else {
    error.message = "expected " + wordsFor(parser->getExpectedTokens(), parser->getVocabulary());
    if (form) error.message += std::string(" in ") + form->construct;
    error.message += ", found " + found(token);
    if (form) error.help = "the form is " + quoted(form->form);
  }
  throw error;
}

} // namespace

SourceRange rangeOf(antlr4::Token *token) {
  auto begin = static_cast<std::uint32_t>(token->getStartIndex());
  if (token->getType() == antlr4::Token::EOF) return {begin, begin};
  return {begin, static_cast<std::uint32_t>(token->getStopIndex() + 1)};
}

void ErrorStrategy::reportError(antlr4::Parser *parser, const antlr4::RecognitionException &error) {
  fail(parser, error.getOffendingToken());
}

antlr4::Token *ErrorStrategy::recoverInline(antlr4::Parser *parser) {
  fail(parser, parser->getCurrentToken());
}

void NestingGuard::enterEveryRule(antlr4::ParserRuleContext *context) {
  if (++depth > maxTreeDepth) throw tooDeep(context->getStart());
}

SyntaxError tooDeep(antlr4::Token *token) {
  return {DiagnosticKind::Input,
          rangeOf(token),
          "an expression or block is nested too deeply: more than " + std::to_string(maxTreeDepth) + " levels",
          {}};
}

} // namespace coll
