//===- Filter.cpp - What is added to the answers of the server -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream answers requests in the order in which they come, from the text that
// was there then, so additions are made from the same text.
//
//===----------------------------------------------------------------------===//

#include "Filter.h"

#include "OpDocs.h"
#include "Symbols.h"

#include "relax-mlir/IR/Nesting.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::relax::lsp;
using llvm::lsp::CompletionItem;
using llvm::lsp::CompletionItemKind;
using llvm::lsp::MarkupContent;
using llvm::lsp::MarkupKind;
namespace json = llvm::json;

static constexpr StringLiteral kCompletion = "textDocument/completion";
static constexpr StringLiteral kPrefix = "relax.";
// Upstream's order: keywords first, then operations, then dialects.
static constexpr StringLiteral kSortText = "1";

/// The object of a message; null if it is none.
static json::Object *getObject(llvm::Expected<json::Value> &message) {
  if (message)
    return message->getAsObject();
  llvm::consumeError(message.takeError());
  return nullptr;
}

static std::string print(const json::Value &value) {
  return llvm::formatv("{0}", value).str();
}

/// The URI of the document that a message is about; empty if it has none.
static StringRef getUri(const json::Object &params) {
  const json::Object *document = params.getObject("textDocument");
  return document ? document->getString("uri").value_or("") : "";
}

//===----------------------------------------------------------------------===//
// Documents
//===----------------------------------------------------------------------===//

Filter::Filter(const DialectRegistry &registry)
    : context(registry, MLIRContext::Threading::DISABLED) {}

llvm::lsp::Range Filter::Place::getRange(const char *start) const {
  return {findPosition(text, start - text.data()), findPosition(text, offset)};
}

/// The object with the new text of a document; null where there is none.
/// Upstream asks for the whole text at each change, and so sees one at a time.
static json::Object *findText(StringRef method, json::Object &params) {
  if (method == "textDocument/didOpen")
    return params.getObject("textDocument");
  json::Array *changes = params.getArray("contentChanges");
  bool isChange = method == "textDocument/didChange";
  return isChange && changes && changes->size() == 1
             ? changes->front().getAsObject()
             : nullptr;
}

/// Blanks what follows too many open brackets, which would exhaust the stack of
/// the parser.
static void cutDeepNesting(std::string &text) {
  if (auto place = relax::findDeepNesting(text))
    std::replace_if(
        text.begin() + *place, text.end(), [](char c) { return c != '\n'; },
        ' ');
}

void Filter::readDocument(StringRef method, json::Object &params) {
  if (method == "textDocument/didClose")
    documents.erase(getUri(params));
  json::Object *holder = findText(method, params);
  auto given = holder ? holder->getString("text") : std::nullopt;
  if (!given)
    return;
  std::string text = given->str();
  std::replace(text.begin(), text.end(), '\r', ' ');
  cutDeepNesting(text);
  (*holder)["text"] = text;
  documents[getUri(params)] = std::move(text);
}

std::optional<Filter::Place>
Filter::findPlace(const json::Object &params) const {
  auto document = documents.find(getUri(params));
  const json::Object *position = params.getObject("position");
  if (document == documents.end() || !position)
    return std::nullopt;
  StringRef text = document->second;
  std::optional<size_t> offset =
      findOffset(text, position->getInteger("line").value_or(-1),
                 position->getInteger("character").value_or(-1));
  return offset ? std::optional<Place>({text, *offset}) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Hover
//===----------------------------------------------------------------------===//

/// Adds to what upstream shows; it shows nothing where the text does not parse.
static void addHover(json::Value &result, StringRef doc,
                     llvm::lsp::Range range) {
  if (!result.getAsObject()) {
    llvm::lsp::Hover hover(range);
    hover.contents.value = doc.str();
    result = toJSON(hover);
    return;
  }
  json::Object *contents = result.getAsObject()->getObject("contents");
  if (auto shown = contents ? contents->getString("value") : std::nullopt)
    (*contents)["value"] = (*shown + "\n---\n\n" + doc).str();
}

Filter::Addition Filter::findHover(Place place) const {
  std::vector<Token> tokens = readTokens(place.text);
  const Token *token = findToken(tokens, place.get());
  bool isName = token && token->kind == Token::Word;
  bool isQuoted = token && token->kind == Token::String;
  StringRef doc =
      isName || isQuoted ? findOpDoc(token->text.trim('"')) : StringRef();
  if (doc.empty())
    return nullptr;
  Place end{place.text, size_t(token->text.end() - place.text.data())};
  llvm::lsp::Range range = end.getRange(token->text.begin());
  return [=](json::Value &result) { addHover(result, doc, range); };
}

//===----------------------------------------------------------------------===//
// Completion
//===----------------------------------------------------------------------===//

static CompletionItem makeItem(StringRef label, CompletionItemKind kind,
                               StringRef detail, llvm::lsp::Range range) {
  CompletionItem item(label, kind, kSortText);
  item.detail = detail.str();
  item.textEdit = llvm::lsp::TextEdit{range, label.str()};
  return item;
}

static MarkupContent makeMarkdown(StringRef text) {
  return {MarkupKind::Markdown, text.str()};
}

static void addItems(json::Value &result,
                     ArrayRef<CompletionItem> completionItems) {
  json::Object *list = result.getAsObject();
  if (json::Array *items = list ? list->getArray("items") : nullptr)
    for (const CompletionItem &item : completionItems)
      items->push_back(toJSON(item));
}

/// Adds documentation to the operations that upstream offers; it offers none
/// where a part of the name is there, `range`.
static void addOperations(json::Value &result, llvm::lsp::Range range) {
  json::Object *list = result.getAsObject();
  json::Array *items = list ? list->getArray("items") : nullptr;
  if (!items)
    return;
  for (json::Value &item : *items) {
    json::Object *object = item.getAsObject();
    StringRef label = object ? object->getString("label").value_or("") : "";
    StringRef doc = findOpDoc((kPrefix + label).str());
    if (!doc.empty())
      (*object)["documentation"] = toJSON(makeMarkdown(doc));
  }
  if (!items->empty())
    return;
  for (const OpDoc &doc : getOpDocs()) {
    CompletionItem item =
        makeItem(doc.name.drop_front(kPrefix.size()), CompletionItemKind::Field,
                 "operation", range);
    item.documentation = makeMarkdown(doc.text);
    items->push_back(toJSON(item));
  }
}

/// Whether an operation may start with this token: at the start of a line, or
/// after the names of its results.
static bool isOperation(const Token *token, ArrayRef<Token> tokens) {
  if (token == tokens.begin())
    return true;
  const Token &before = token[-1];
  const char *start = before.text.end();
  StringRef between(start, token->text.begin() - start);
  return between.contains('\n') || before.is('=') || before.is('{');
}

/// The part of the name of an operation of Relax that is in front of a place,
/// without the prefix of the dialect; none where there is something else.
static std::optional<StringRef>
findPartOfName(const Token *token, ArrayRef<Token> tokens, const char *place) {
  if (!token || !isOperation(token, tokens))
    return std::nullopt;
  StringRef name(token->text.begin(), place - token->text.begin());
  bool isQuoted = token->kind == Token::String && name.consume_front("\"");
  if (!isQuoted && token->kind != Token::Word)
    return std::nullopt;
  return name.consume_front(kPrefix) ? std::optional(name) : std::nullopt;
}

std::vector<CompletionItem> Filter::findSymbolItems(Place place) {
  std::vector<Token> tokens = readTokens(findModule(place.text, place.offset));
  const Token *token = findToken(tokens, place.get());
  std::vector<CompletionItem> items;
  if (!token || token->kind != Token::Symbol ||
      token->text.begin() == place.get())
    return items;
  llvm::lsp::Range range = place.getRange(token->text.begin() + 1);
  for (const Symbol &symbol : findSymbols(tokens, context)) {
    if (symbol.token == token)
      return {}; // the name is new
    if (!symbol.name.empty())
      items.push_back(makeItem(symbol.name, symbol.kind, symbol.type, range));
  }
  return items;
}

Filter::Addition Filter::findCompletion(Place place) {
  std::vector<CompletionItem> items = findSymbolItems(place);
  if (!items.empty())
    return [items = std::move(items)](json::Value &result) {
      addItems(result, items);
    };
  std::vector<Token> tokens = readTokens(place.text);
  const Token *token = findToken(tokens, place.get());
  std::optional<StringRef> part = findPartOfName(token, tokens, place.get());
  if (!part)
    return nullptr;
  llvm::lsp::Range range = place.getRange(part->begin());
  return [=](json::Value &result) { addOperations(result, range); };
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static void addTrigger(json::Value &result) {
  json::Object *object = result.getAsObject();
  for (StringRef key : {"capabilities", "completionProvider"})
    object = object ? object->getObject(key) : nullptr;
  if (auto *characters =
          object ? object->getArray("triggerCharacters") : nullptr)
    characters->push_back("@");
}

Filter::Addition Filter::findAddition(StringRef method,
                                      const json::Object &params) {
  if (method == "initialize")
    return addTrigger;
  std::optional<Place> place = findPlace(params);
  if (place && method == "textDocument/hover")
    return findHover(*place);
  if (place && method == kCompletion)
    return findCompletion(*place);
  return nullptr;
}

/// Whether a place is in a symbol with quotes, of which completion in upstream
/// takes off more than is there.
static bool isQuotedSymbol(StringRef text, const char *place) {
  std::vector<Token> tokens = readTokens(text);
  const Token *token = findToken(tokens, place);
  return token && token->text.starts_with("@\"");
}

std::string Filter::readRequest(std::string message) {
  llvm::Expected<json::Value> parsed = json::parse(message);
  json::Object *object = getObject(parsed);
  auto method = object ? object->getString("method") : std::nullopt;
  json::Object *params = object ? object->getObject("params") : nullptr;
  if (!method || !params)
    return message;
  const json::Value *id = object->get("id");
  if (!id) {
    readDocument(*method, *params);
    return print(*parsed);
  }
  if (Addition addition = findAddition(*method, *params)) {
    std::lock_guard<std::mutex> lock(mutex);
    additions[print(*id)] = std::move(addition);
  }
  std::optional<Place> place = findPlace(*params);
  if (*method != kCompletion || !place ||
      !isQuotedSymbol(place->text, place->get()))
    return message;
  // After the end, where upstream has nothing to offer.
  int64_t line = place->text.count('\n') + 1;
  (*params)["position"] = json::Object{{"line", line}, {"character", 0}};
  return print(*parsed);
}

std::string Filter::addToAnswer(std::string message) {
  llvm::Expected<json::Value> parsed = json::parse(message);
  json::Object *object = getObject(parsed);
  const json::Value *id = object ? object->get("id") : nullptr;
  if (!id)
    return message;
  Addition addition;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = additions.find(print(*id));
    if (found == additions.end())
      return message;
    addition = std::move(found->second);
    additions.erase(found);
  }
  json::Value *result = object->get("result");
  if (!result) // an error
    return message;
  addition(*result);
  bool isPretty = StringRef(message).starts_with("{\n");
  return llvm::formatv(isPretty ? "{0:2}\n" : "{0}", *parsed).str();
}
