#include "engine/attach_tokens.hpp"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "request/adapter_family.hpp"
#include "weights/adapters/layer_change.hpp"

namespace omnirt {
namespace {

constexpr int64_t most_vectors = 75;  // of one token: a prompt's window holds no more

const Param* find_param(const nn::Network& network, const std::string& name) {
  for (const Param* param : network.params()) {
    if (param->name == name) return param;
  }
  return nullptr;
}

// The text encoder that files of embeddings call `said`; "" where it may be any.
std::string component_called(const Family& family, const std::string& said) {
  auto it = std::ranges::find(family.text_encoders, said, &TextEncoderParts::in_files);
  return said.empty() || it == family.text_encoders.end() ? "" : it->encoder;
}

bool in_prompts(const Proposal& proposal, const std::string& token) {
  return std::ranges::any_of(proposal.texts, [&](const auto& texts) {
    return std::ranges::any_of(texts.second, [&](const std::string& text) {
      return text.find(token) != std::string::npos;
    });
  });
}

}  // namespace

Tensor with_rows(const Tensor& table, const TableRows& rows) {
  int64_t count = table.size(0);
  for (const auto& [first, values] : rows) count = std::max(count, first + values.size(0));
  Tensor whole = at::zeros({count, table.size(1)}, at::kFloat);
  whole.narrow(0, 0, table.size(0)).copy_(table);
  for (const auto& [first, values] : rows) whole.narrow(0, first, values.size(0)).copy_(values);
  return whole;
}

TokenAttaching::TokenAttaching(Proposal& proposal, LoadedPipeline& pipeline)
    : proposal_(proposal), pipeline_(pipeline) {
  for (const TextEncoderParts& parts : proposal.family->text_encoders) {
    LoadedComponent* encoder = pipeline.find(parts.encoder);
    LoadedComponent* tokenizer = pipeline.find(parts.tokenizer);
    if (!encoder || !encoder->network || !tokenizer || !tokenizer->tokenizer) continue;
    std::string table = encoder->network->adapter_names().token_table;
    if (table.empty()) continue;
    encoders_.push_back({parts.encoder, parts.tokenizer, find_param(*encoder->network, table)});
    next_[parts.tokenizer] = tokenizer->tokenizer->vocab_size();
  }
}

std::vector<std::string> TokenAttaching::add(const AdapterChoice& choice) {
  std::vector<std::string> names;
  if (choice.file->tokens.empty()) {
    if (!choice.tokens.empty())
      proposal_.error({choice.field + ".token", choice.tokens.front(), "the file brings no tokens",
                       "remove it"});
    return names;
  }
  if (choice.file->layers.empty() && (choice.scale != 1 || !choice.scales.empty())) {
    proposal_.error({choice.field + ".scale", fmt::format("{}", choice.scale),
                     "a textual inversion has no scale", "remove it"});
  }
  if (choice.file->layers.empty() && choice.beside) {
    proposal_.error({choice.field + ".mode", "beside",
                     "a textual inversion has rows of its own, which are neither", "remove it"});
  }
  for (const Token& token : tokens_of(choice)) {
    place(choice, token);
    names.push_back(token.name);
    bool plain = choice.file->layers.empty();
    if (plain && !proposal_.texts.empty() && !in_prompts(proposal_, token.name)) {
      proposal_.warn({choice.field, token.name, "no prompt has this token",
                      fmt::format("write {} into the prompt", token.name)});
    }
  }
  return names;
}

std::vector<TokenAttaching::Token> TokenAttaching::tokens_of(const AdapterChoice& choice) {
  std::vector<Token> tokens;
  for (const adapters::FileToken& found : choice.file->tokens) {
    auto same = std::ranges::find(tokens, found.token, &Token::name);
    Token& token = same == tokens.end() ? tokens.emplace_back(Token{found.token, {}}) : *same;
    Tensor vectors = adapters::read_factor(found.vectors);
    token.vectors.emplace_back(found.encoder, vectors.dim() == 1 ? vectors.unsqueeze(0) : vectors);
  }
  if (!rename(choice, tokens)) return {};
  for (Token& token : tokens) {
    if (token.name.empty()) token.name = choice.file->path.stem().string();
  }
  return tokens;
}

// The names in the request: one per token, or one per vector of the only token.
bool TokenAttaching::rename(const AdapterChoice& choice, std::vector<Token>& tokens) {
  const std::vector<std::string>& names = choice.tokens;
  if (names.empty()) return true;
  auto rows = static_cast<size_t>(tokens.front().vectors.front().second.size(0));
  if (names.size() == tokens.size()) {
    for (size_t i = 0; i < names.size(); ++i) tokens[i].name = names[i];
    return true;
  }
  bool equal_rows = std::ranges::all_of(tokens.front().vectors, [&](const auto& each) {
    return each.second.size(0) == static_cast<int64_t>(rows);
  });
  if (tokens.size() != 1 || names.size() != rows || !equal_rows) {
    proposal_.error(
        {choice.field + ".token", fmt::format("{}", fmt::join(names, ", ")),
         fmt::format("the file brings {} tokens, the first of {} vectors", tokens.size(), rows),
         "give one name a token, or one a vector of the only token"});
    return false;
  }
  Token whole = std::move(tokens.front());
  tokens.clear();
  for (size_t i = 0; i < names.size(); ++i) {
    Token& token = tokens.emplace_back(Token{names[i], {}});
    for (const auto& [encoder, vectors] : whole.vectors)
      token.vectors.emplace_back(encoder, vectors.narrow(0, static_cast<int64_t>(i), 1));
  }
  return true;
}

void TokenAttaching::place(const AdapterChoice& choice, const Token& token) {
  for (const auto& [said, vectors] : token.vectors) {
    int64_t width = vectors.size(1), count = vectors.size(0);
    if (count > most_vectors || count < 1) {
      proposal_.error({choice.field, fmt::format("{}: {} vectors", token.name, count),
                       fmt::format("a prompt holds at most {}", most_vectors), ""});
      continue;
    }
    const Encoder* encoder = encoder_for(choice, said, width);
    if (encoder)
      place_in(choice, *encoder, token.name, vectors);
    else
      misfit(choice, token.name, width);
  }
}

const TokenAttaching::Encoder* TokenAttaching::encoder_for(const AdapterChoice& choice,
                                                           const std::string& said, int64_t width) {
  std::string wanted =
      choice.component.empty() ? component_called(*proposal_.family, said) : choice.component;
  for (const Encoder& encoder : encoders_) {
    if ((wanted.empty() || wanted == encoder.name) && encoder.table->shape[1] == width)
      return &encoder;
  }
  return nullptr;
}

void TokenAttaching::misfit(const AdapterChoice& choice, const std::string& name, int64_t width) {
  // A part of a run that reads no prompts.
  bool elsewhere =
      std::ranges::any_of(proposal_.family->text_encoders, [&](const TextEncoderParts& parts) {
        return proposal_.folder.find(parts.encoder) && !pipeline_.find(parts.encoder);
      });
  if (encoders_.empty() && elsewhere) return;
  if (auto other = other_family(proposal_, *choice.file)) {
    proposal_.error(family_finding(proposal_, choice.field, *choice.file, *other));
    return;
  }
  std::vector<std::string> widths;
  for (const Encoder& encoder : encoders_)
    widths.push_back(fmt::format("{} of {}", encoder.name, encoder.table->shape[1]));
  proposal_.error({choice.field, fmt::format("{}: vectors of {} numbers", name, width),
                   fmt::format("the text encoders of {} take others: {}", family_name(proposal_),
                               fmt::join(widths, ", ")),
                   "use an embedding made for this model"});
}

void TokenAttaching::place_in(const AdapterChoice& choice, const Encoder& encoder,
                              const std::string& name, const Tensor& vectors) {
  const text::Tokenizer& tokenizer = *pipeline_.find(encoder.tokenizer)->tokenizer;
  std::vector<text::TokenVectors>& added = added_[encoder.tokenizer];
  bool known = tokenizer.has_token(name) ||
               std::ranges::find(added, name, &text::TokenVectors::content) != added.end();
  if (known) {
    proposal_.error({choice.field + ".token", name,
                     fmt::format("the {} has this token already", encoder.tokenizer),
                     "give it another name with token"});
    return;
  }
  int64_t& next = next_[encoder.tokenizer];
  added.push_back({name, next, vectors.size(0)});
  Table& table = tables_[encoder.name];
  table.param = encoder.table->index;
  table.rows.emplace_back(next, vectors);
  table.key += fmt::format("{}|{}|{}\n", name, next, choice.file->identity);
  next += vectors.size(0);
}

void TokenAttaching::attach() {
  for (const auto& [name, tokens] : added_) {
    LoadedComponent& before = *pipeline_.find(name);
    auto extended = std::make_shared<LoadedComponent>();
    extended->name = before.name;
    extended->class_name = before.class_name;
    extended->tokenizer = before.tokenizer->with_tokens(tokens);
    if (!extended->tokenizer) {
      proposal_.error(
          {"adapters", name, fmt::format("a {} takes no further tokens", before.class_name), ""});
      continue;
    }
    pipeline_.replace(name, std::move(extended));
  }
}

}  // namespace omnirt
