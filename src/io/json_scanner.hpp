#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace omnirt::io {

// Reads JSON of a known structure front to back, in one pass and without building a tree, so that
// a hostile header costs no more than its own length. Each call skips white space first. Errors
// are InvalidFile with the file and the byte's place in it.
class JsonScanner {
 public:
  // `text` is at byte `offset` of `file`; both must outlive the scanner. Throws when `text` is not
  // UTF-8.
  JsonScanner(std::string_view text, const std::string& file, size_t offset = 0);

  // Consumes `c` when it is next.
  bool take(char c);
  void expect(char c, std::string_view where);
  std::string string(std::string_view where);
  // A JSON integer from 0 to `max`, without fraction and exponent.
  uint64_t whole_number(uint64_t max, std::string_view where);
  bool take_null();
  // Any value, nested at most max_json_depth deep.
  void skip_value(size_t depth = 0);
  // Only white space may follow.
  void finish();
  // What is being read ("tensor 'a'" for a), named in errors; "" for the file as a whole. Must
  // outlive its use.
  void set_subject(std::string_view tensor) { subject_ = tensor; }
  [[noreturn]] void fail(const std::string& message) const;

  // `member(std::string key)` must consume the member's value.
  template <class Member>
  void object(std::string_view where, Member&& member) {
    expect('{', where);
    if (take('}')) return;
    do {
      std::string key = string(where);
      expect(':', where);
      member(std::move(key));
    } while (take(','));
    expect('}', where);
  }

  // `item()` must consume one value.
  template <class Item>
  void array(std::string_view where, Item&& item) {
    expect('[', where);
    if (take(']')) return;
    do {
      item();
    } while (take(','));
    expect(']', where);
  }

 private:
  char peek();
  std::string found() const;
  void escape(std::string& out);
  uint32_t four_hex_digits();
  void skip_word();

  std::string_view text_;
  const std::string& file_;
  size_t offset_;
  size_t at_ = 0;
  std::string_view subject_;
};

}  // namespace omnirt::io
