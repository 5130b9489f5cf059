#include <fmt/format.h>

#include <bit>

#include "base/error.hpp"
#include "io/utf8.hpp"
#include "text/unigram_files.hpp"
#include "text/vocabulary.hpp"

namespace omnirt::text {
namespace {

// Reads a protocol buffer's message field by field (protobuf.dev, "Encoding").
class Message {
 public:
  Message(std::string_view bytes, const std::string& where) : rest_(bytes), where_(where) {}

  // The next field: its number, and either `number` or `bytes`.
  bool next() {
    if (rest_.empty()) return false;
    uint64_t tag = varint();
    field = tag >> 3;
    bytes = {};
    number = 0;
    switch (tag & 7) {
      case 0:
        number = varint();
        return true;
      case 1:
        number = fixed(8);
        return true;
      case 2:
        bytes = take(varint());
        return true;
      case 5:
        number = fixed(4);
        return true;
      default:
        cut();
    }
  }
  float as_float() const { return std::bit_cast<float>(static_cast<uint32_t>(number)); }

  uint64_t field = 0;
  uint64_t number = 0;
  std::string_view bytes;

 private:
  [[noreturn]] void cut() {
    throw InvalidFile({where_, "", "not a sentencepiece model, or cut",
                       "copy the file anew, or give the folder a tokenizer.json"});
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    cut();
  }
  uint64_t fixed(size_t size) {
    std::string_view part = take(size);
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(part[i]);
    return value;
  }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) cut();
    std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }

  std::string_view rest_;
  const std::string& where_;
};

// ModelProto's fields, those of its parts, and the values that are distinguished.
constexpr uint64_t pieces = 1, trainer_spec = 2, normalizer_spec = 3;
constexpr uint64_t piece_text = 1, piece_score = 2, piece_type = 3;
constexpr uint64_t control_piece = 3, user_piece = 4;
constexpr uint64_t model_type = 3, unigram_model = 1;
constexpr uint64_t normalizer_charsmap = 2;

void read_piece(Message message, UnigramFiles& files, const std::string& where) {
  UnigramPiece piece;
  uint64_t type = 1;
  while (message.next()) {
    if (message.field == piece_text) piece.text = message.bytes;
    if (message.field == piece_score) piece.score = message.as_float();
    if (message.field == piece_type) type = message.number;
  }
  auto refuse = [&](std::string why) {
    throw InvalidFile({where, fmt::format("piece {}", files.pieces.size()), std::move(why),
                       "give the folder of a T5 tokenizer"});
  };
  if (files.pieces.size() >= static_cast<size_t>(max_vocabulary))
    refuse(fmt::format("more than {} pieces", max_vocabulary));
  if (io::find_invalid_utf8(piece.text) != std::string_view::npos) refuse("not UTF-8");
  if (type == control_piece || type == user_piece) {
    AddedToken token;
    token.content = piece.text;
    token.special = type == control_piece;
    token.id = static_cast<int64_t>(files.pieces.size());
    files.added_tokens.push_back(std::move(token));
  }
  files.pieces.push_back(std::move(piece));
}

void check_trainer(Message message, const std::string& where) {
  while (message.next()) {
    if (message.field != model_type || message.number == unigram_model) continue;
    throw Unsupported({where, fmt::format("model_type {}", message.number),
                       "T5's tokenizer is a unigram model, model_type 1",
                       "give the folder of a T5 tokenizer"});
  }
}

}  // namespace

UnigramFiles parse_sentencepiece(std::string_view bytes, const std::string& where) {
  UnigramFiles files;
  Message message(bytes, where);
  while (message.next()) {
    Message part(message.bytes, where);
    if (message.field == pieces) read_piece(part, files, where);
    if (message.field == trainer_spec) check_trainer(part, where);
    if (message.field != normalizer_spec) continue;
    while (part.next()) {
      if (part.field == normalizer_charsmap) files.charsmap = part.bytes;
    }
  }
  if (files.pieces.empty()) {
    throw InvalidFile({where, "", "holds no pieces", "give the folder of a T5 tokenizer"});
  }
  return files;
}

}  // namespace omnirt::text
