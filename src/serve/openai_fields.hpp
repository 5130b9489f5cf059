#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"

namespace omnirt::serve {

// The fields of a body that OpenAI's clients send, each taken by its name; what is left is unknown.
class OpenAiFields {
 public:
  explicit OpenAiFields(Json fields);

  void refuse(const std::string& field, const Json& value, const std::string& message);
  // Null where it is not there.
  Json take(const char* name);
  void move(const char* name, Json& into, const char* as);
  bool flag(const char* name);
  int64_t count(const char* name, int64_t least, int64_t most);
  // One of `values`; the first where none is given.
  std::string one_of(const char* name, const std::vector<std::string>& values);
  // "1024x1024", or auto: the model's own.
  // A list, or a text with commas between; empty where there is none.
  Json names(const char* name);
  void size(Json& config);
  // Throws InvalidRequest with all that was wrong.
  void finish();

 private:
  Json fields_;
  std::vector<Finding> findings_;
};

}  // namespace omnirt::serve
