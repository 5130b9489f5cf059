#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/json.hpp"
#include "base/printable.hpp"

namespace omnirt::cli {

// What the commands print. Names, classes and messages come from files, and a terminal obeys what
// it is sent: every text is made printable when it is printed (base/printable.hpp).

// What is printed for an argument: a text as one printable line, anything else as it is.
template <class T>
using Shown = std::conditional_t<std::is_convertible_v<const T&, std::string_view>, std::string, T>;

template <class T>
Shown<T> shown(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return printable(value);
  else
    return value;
}

// Writes to standard output. flush_output() reports whether it could be written.
void put(std::string_view text);

// Text of this program that may span lines; the arguments are printable already.
template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  put(fmt::format(format, std::forward<Args>(args)...));
}

// `format` is this program's; texts among the arguments are not trusted.
template <class... Args>
void say(fmt::format_string<Shown<Args>...> format, const Args&... args) {
  put(fmt::format(format, shown<Args>(args)...));
}

// A text of several lines that this program made, with names from outside in it.
void say_lines(std::string_view text);

// Indented, with a line end.
void say_json(const Json& json);

// Writes to standard error, for progress, warnings and errors. A stream that is closed, full or a
// broken pipe loses the text and changes nothing else.
void put_note(std::string_view text);

// The arguments are printable already.
template <class... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  put_note(fmt::format(format, std::forward<Args>(args)...));
}

// Whether everything printed so far was written. Throws RunFailed where it was not (a full disk,
// for example), but only returns false where the reader of a pipe has left: that needs no message.
bool flush_output();

}  // namespace omnirt::cli
