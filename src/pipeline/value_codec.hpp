#pragma once
#include <any>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/report.hpp"
#include "io/image.hpp"
#include "runtime/value.hpp"
#include "tensor/generator.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

struct Catalogue;  // pipeline/model_spec.hpp

// A value of a run as a file holds it: small things as JSON, large ones as tensors by name.
struct SavedValue {
  Json json;
  std::map<std::string, Tensor> tensors{};

  // The tensor of this name. Throws InvalidFile when it is not there.
  const Tensor& tensor(const std::string& name) const;
  // The JSON under this key as a T. Throws InvalidFile when it is not there, or another type.
  template <class T>
  T get(const char* key) const {
    try {
      return json.at(key).get<T>();
    } catch (const nlohmann::json::exception& thrown) {
      refuse(thrown.what());
    }
  }
  [[noreturn]] static void refuse(const std::string& why);
};

// How a type of value goes into a file and comes back, so that a run can be cut at a block that
// passes it on. Specialised next to each type that ports pass on:
//
//   template <>
//   struct ValueCodec<Mine> {
//     static constexpr const char* type = "mine";  // as graphs and saved runs name it
//     static SavedValue save(const Mine& value);
//     static Mine load(const SavedValue& saved, const Catalogue& catalogue);
//   };
//
// What is loaded comes from a file from outside: load checks it, and throws (SavedValue::refuse).
// Where the type has sizes of which its port's shape speaks (of a list: how many it holds),
//   static std::vector<int64_t> sizes(const Mine& value);
// returns them, and what is loaded is compared with the shape and with the other values.
template <class T>
struct ValueCodec;

// The same for a value whose type is not known to the code that handles it.
struct PortCodec {
  const char* type;
  SavedValue (*save)(const std::any& value);
  std::any (*load)(const SavedValue& saved, const Catalogue& catalogue);
  std::vector<int64_t> (*sizes)(const std::any& value);  // null where the type has none
};

template <class T>
constexpr auto sizes_of() -> std::vector<int64_t> (*)(const std::any&) {
  if constexpr (requires(const T& value) { ValueCodec<T>::sizes(value); })
    return
        [](const std::any& value) { return ValueCodec<T>::sizes(std::any_cast<const T&>(value)); };
  else
    return nullptr;
}

// The codec of T; null where T has none.
template <class T>
const PortCodec* codec_of() {
  if constexpr (requires { ValueCodec<T>::type; }) {
    static const PortCodec codec{
        ValueCodec<T>::type,
        [](const std::any& value) { return ValueCodec<T>::save(std::any_cast<const T&>(value)); },
        [](const SavedValue& saved, const Catalogue& catalogue) {
          return std::any(ValueCodec<T>::load(saved, catalogue));
        },
        sizes_of<T>()};
    return &codec;
  } else {
    return nullptr;
  }
}

template <>
struct ValueCodec<Tensor> {
  static constexpr const char* type = "tensor";
  static SavedValue save(const Tensor& value);
  static Tensor load(const SavedValue& saved, const Catalogue& catalogue);
  static std::vector<int64_t> sizes(const Tensor& value);  // none of one that was never made
};

// Values that live as long as the run.
template <>
struct ValueCodec<Value> {
  static constexpr const char* type = "value";
  static SavedValue save(const Value& value);
  static Value load(const SavedValue& saved, const Catalogue& catalogue);
  static std::vector<int64_t> sizes(const Value& value);
};

template <>
struct ValueCodec<std::vector<Value>> {
  static constexpr const char* type = "values";
  static SavedValue save(const std::vector<Value>& value);
  static std::vector<Value> load(const SavedValue& saved, const Catalogue& catalogue);
};

template <>
struct ValueCodec<io::Image> {
  static constexpr const char* type = "image";
  static SavedValue save(const io::Image& value);
  static io::Image load(const SavedValue& saved, const Catalogue& catalogue);
};

template <>
struct ValueCodec<std::vector<io::Image>> {
  static constexpr const char* type = "images";
  static SavedValue save(const std::vector<io::Image>& value);
  static std::vector<io::Image> load(const SavedValue& saved, const Catalogue& catalogue);
  static std::vector<int64_t> sizes(const std::vector<io::Image>& value);
};

// Generators travel with their state, so that what is drawn next is what would have been.
template <>
struct ValueCodec<std::shared_ptr<Noise>> {
  static constexpr const char* type = "noise";
  static SavedValue save(const std::shared_ptr<Noise>& value);
  static std::shared_ptr<Noise> load(const SavedValue& saved, const Catalogue& catalogue);
  static std::vector<int64_t> sizes(const std::shared_ptr<Noise>& value);
};

template <>
struct ValueCodec<std::vector<ArtifactReport>> {
  static constexpr const char* type = "artifacts";
  static SavedValue save(const std::vector<ArtifactReport>& value);
  static std::vector<ArtifactReport> load(const SavedValue& saved, const Catalogue& catalogue);
};

// Types that JSON holds as they are.
template <class T>
struct JsonCodec {
  static SavedValue save(const T& value) { return {Json{{"value", value}}}; }
  static T load(const SavedValue& saved, const Catalogue&) {
    return saved.template get<T>("value");
  }
};
template <>
struct ValueCodec<std::vector<std::string>> : JsonCodec<std::vector<std::string>> {
  static constexpr const char* type = "texts";
};
template <>
struct ValueCodec<std::vector<uint64_t>> : JsonCodec<std::vector<uint64_t>> {
  static constexpr const char* type = "whole numbers";
  static std::vector<int64_t> sizes(const std::vector<uint64_t>& value) {
    return {static_cast<int64_t>(value.size())};
  }
};
template <>
struct ValueCodec<std::vector<int64_t>> : JsonCodec<std::vector<int64_t>> {
  static constexpr const char* type = "integers";
};
template <>
struct ValueCodec<std::vector<double>> : JsonCodec<std::vector<double>> {
  static constexpr const char* type = "numbers";
};
template <>
struct ValueCodec<std::string> : JsonCodec<std::string> {
  static constexpr const char* type = "text";
};
template <>
struct ValueCodec<int64_t> : JsonCodec<int64_t> {
  static constexpr const char* type = "integer";
};
template <>
struct ValueCodec<uint64_t> : JsonCodec<uint64_t> {
  static constexpr const char* type = "whole number";
};
template <>
struct ValueCodec<int> : JsonCodec<int> {
  static constexpr const char* type = "integer";
};
template <>
struct ValueCodec<double> : JsonCodec<double> {
  static constexpr const char* type = "number";
};
template <>
struct ValueCodec<bool> : JsonCodec<bool> {
  static constexpr const char* type = "truth value";
};
template <>
struct ValueCodec<Json> : JsonCodec<Json> {
  static constexpr const char* type = "json";
};

}  // namespace omnirt
