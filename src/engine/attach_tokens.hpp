#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/loaded_pipeline.hpp"
#include "request/proposal.hpp"

namespace omnirt {

// Rows of an embedding table: the first one's index, and {n, D}.
using TableRows = std::vector<std::pair<int64_t, Tensor>>;

// The table, fp32, with these rows in place of its own or after them.
Tensor with_rows(const Tensor& table, const TableRows& rows);

// The tokens that a run's adapters bring (textual inversion, Gal et al. 2022, arXiv 2208.01618), as
// they come together: names in the tokenizers, vectors in the text encoders' tables.
class TokenAttaching {
 public:
  TokenAttaching(Proposal& proposal, LoadedPipeline& pipeline);

  // What a text encoder's table becomes.
  struct Table {
    size_t param = 0;  // the table's index
    TableRows rows;
    std::string key;  // says all that it depends on
  };

  // Takes an adapter's tokens; their names. What does not fit is an error of the proposal.
  std::vector<std::string> add(const AdapterChoice& choice);
  // Puts tokenizers that know them into the pipeline.
  void attach();
  const std::map<std::string, Table>& tables() const { return tables_; }

 private:
  // A text encoder, its table and its tokenizer.
  struct Encoder {
    std::string name;
    std::string tokenizer;
    const Param* table = nullptr;
  };
  // One token with its vectors for one encoder or several.
  struct Token {
    std::string name;
    std::vector<std::pair<std::string, Tensor>> vectors;  // by the file's name of the encoder
  };
  std::vector<Token> tokens_of(const AdapterChoice& choice);
  bool rename(const AdapterChoice& choice, std::vector<Token>& tokens);
  void place(const AdapterChoice& choice, const Token& token);
  const Encoder* encoder_for(const AdapterChoice& choice, const std::string& said, int64_t width);
  void place_in(const AdapterChoice& choice, const Encoder& encoder, const std::string& name,
                const Tensor& vectors);
  void misfit(const AdapterChoice& choice, const std::string& name, int64_t width);

  Proposal& proposal_;
  LoadedPipeline& pipeline_;
  std::vector<Encoder> encoders_;
  std::map<std::string, std::vector<text::TokenVectors>> added_;  // by tokenizer
  std::map<std::string, int64_t> next_;  // the id that is next, by tokenizer
  std::map<std::string, Table> tables_;  // by text encoder
};

}  // namespace omnirt
