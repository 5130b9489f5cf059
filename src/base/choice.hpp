#pragma once
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace omnirt {

// What requests call the enumerators of a choice, in their order:
//
//   template <>
//   struct ChoiceNames<OutputType> {
//     static constexpr std::array names{"image", "latent"};
//   };
template <class Enum>
struct ChoiceNames;

template <class T>
concept Choice = std::is_enum_v<T> && requires {
  ChoiceNames<T>::names.size();
};

template <Choice T>
constexpr const char* name_of(T choice) {
  return ChoiceNames<T>::names[static_cast<size_t>(choice)];
}

// Nothing for a text that names none.
template <Choice T>
constexpr std::optional<T> choice_of(std::string_view text) {
  for (size_t i = 0; i < ChoiceNames<T>::names.size(); ++i) {
    if (text == ChoiceNames<T>::names[i]) return static_cast<T>(i);
  }
  return std::nullopt;
}

}  // namespace omnirt
