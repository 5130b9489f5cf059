#include "serve/api_keys.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "request/request.hpp"

namespace omnirt::serve {
namespace {

std::optional<std::array<uint8_t, 32>> digest_of_hex(const std::string& text) {
  auto digit = [](char each) {
    if (each >= '0' && each <= '9') return each - '0';
    if (each >= 'a' && each <= 'f') return each - 'a' + 10;
    if (each >= 'A' && each <= 'F') return each - 'A' + 10;
    return -1;
  };
  std::array<uint8_t, 32> digest{};
  if (text.size() != 64) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

// One entry; each member is taken by its name, and others are refused.
class KeyEntry {
 public:
  KeyEntry(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  ApiKey read() const {
    if (!json_.is_object()) refuse("", json_, "an object is expected");
    for (const auto& [name, value] : json_.items()) {
      static const std::set<std::string> known{
          "name", "sha256", "scopes", "jobs", "requests_per_minute", "priority"};
      if (!known.contains(name)) refuse(name, value, "unknown");
    }
    ApiKey key;
    key.name = text("name");
    if (key.name.empty() || key.name.size() > 64)
      refuse("name", key.name, "1 to 64 bytes are expected");
    auto digest = digest_of_hex(text("sha256"));
    if (!digest) refuse("sha256", "", "64 hexadecimal digits are expected");
    key.digest = *digest;
    key.jobs = static_cast<size_t>(number("jobs"));
    key.requests_per_minute = number("requests_per_minute");
    if (json_.contains("priority")) {
      auto priority = choice_of<Priority>(text("priority"));
      if (!priority) refuse("priority", json_["priority"], "low, normal or high is expected");
      key.priority = *priority;
    }
    if (json_.contains("scopes")) key.scopes = scopes();
    return key;
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const Json& value,
                           const std::string& message) const {
    throw InvalidRequest({where_ + "." + name, shown(value), message, "docs/server.md"});
  }
  std::string text(const char* name) const {
    auto it = json_.find(name);
    if (it == json_.end() || !it->is_string()) refuse(name, {}, "a text is expected");
    return it->get<std::string>();
  }
  int64_t number(const char* name) const {
    auto it = json_.find(name);
    if (it == json_.end()) return 0;
    if (!it->is_number_integer() || *it < 1 || *it > 1'000'000)
      refuse(name, *it, "a whole number from 1 to 1000000 is expected");
    return it->get<int64_t>();
  }
  std::set<Scope> scopes() const {
    std::set<Scope> found;
    const Json& list = json_["scopes"];
    if (!list.is_array() || list.empty()) refuse("scopes", list, "a list is expected");
    for (const Json& each : list) {
      auto scope = each.is_string() ? choice_of<Scope>(each.get<std::string>()) : std::nullopt;
      if (!scope) refuse("scopes", each, "generate, metrics, adapters or admin is expected");
      found.insert(*scope);
    }
    return found;
  }

  const Json& json_;
  std::string where_;
};

}  // namespace

std::vector<ApiKey> ApiKeys::read(const std::filesystem::path& file) {
  const Json json = load_document(file.string());
  if (!json.is_object() || json.size() != 1 || !json.contains("keys") || !json["keys"].is_array() ||
      json["keys"].empty() || json["keys"].size() > max_api_keys) {
    throw InvalidRequest(
        {"api_key_file", file.string(),
         fmt::format("{{\"keys\": [...]}} with 1 to {} keys is expected", max_api_keys),
         "docs/server.md"});
  }
  std::vector<ApiKey> keys;
  for (size_t i = 0; i < json["keys"].size(); ++i) {
    ApiKey key = KeyEntry(json["keys"][i], fmt::format("{}: keys[{}]", file.string(), i)).read();
    for (const ApiKey& other : keys) {
      if (other.name == key.name || other.digest == key.digest)
        throw InvalidRequest({fmt::format("{}: keys[{}]", file.string(), i), key.name,
                              "the name or the key is there twice", "remove one"});
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

ApiKeys::ApiKeys(std::vector<ApiKey> keys) : keys_(std::move(keys)) {}

const ApiKey* ApiKeys::find(std::string_view text) const {
  std::array<uint8_t, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  const ApiKey* found = nullptr;
  for (const ApiKey& key : keys_) {
    if (CRYPTO_memcmp(key.digest.data(), digest.data(), digest.size()) == 0) found = &key;
  }
  return found;
}

// A bucket of one minute's requests, which fills evenly.
bool ApiKeys::take(const ApiKey& key, int64_t now_ms, int64_t& retry_after_ms) {
  if (key.requests_per_minute == 0) return true;
  std::scoped_lock lock(mutex_);
  const auto most = static_cast<double>(key.requests_per_minute);
  Bucket& bucket = buckets_.try_emplace(key.name, Bucket{most, now_ms}).first->second;
  const auto passed = static_cast<double>(std::max<int64_t>(now_ms - bucket.filled_ms, 0));
  bucket.left = std::min(most, bucket.left + passed * most / 60'000);
  bucket.filled_ms = now_ms;
  if (bucket.left >= 1) {
    bucket.left -= 1;
    return true;
  }
  retry_after_ms = static_cast<int64_t>(std::ceil((1 - bucket.left) * 60'000 / most));
  return false;
}

}  // namespace omnirt::serve
