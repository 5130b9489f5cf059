#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "io/image.hpp"
#include "serve/served_request.hpp"

namespace omnirt::serve {

// What stands in a request's inputs for a file that came with it: {this: its name}.
inline constexpr const char* sent_file_key = "sent file";
inline constexpr size_t max_sent_files = 32;
// Of images that come with requests.
inline constexpr io::ImageLimits sent_image_limits{
    .max_side = 8192, .max_pixels = int64_t{32} << 20, .max_file_bytes = size_t{32} << 20};

// What inputs are: texts, or files; of these, images can be sent, and latents and encoded prompts
// cannot.
bool is_text_input(std::string_view name);
bool is_image_input(std::string_view name);
// A finding for each object in a text input's value: it could stand for a file, and a text does
// not.
void refuse_objects(const std::string& field, const Json& value, std::vector<Finding>& findings);

// Takes the images out of a request's inputs.
class RequestFiles {
 public:
  RequestFiles(const std::vector<Part>& parts, std::vector<Finding>& findings)
      : parts_(parts), used_(parts.size(), false), findings_(findings) {}
  // Replaces each image of json["inputs"], and refuses what is neither text nor image there. Parts
  // that no input names are inputs of their own name.
  void take_inputs(Json& json);
  const std::vector<SentFile>& files() const { return files_; }

 private:
  void take(const std::string& field, Json& value);
  void take_object(const std::string& field, Json& value);
  void take_base64(const std::string& field, std::string_view text, Json& value);
  void take_part(const std::string& field, const std::string& name, Json& value);
  void keep(const std::string& field, std::string bytes, Json& value);
  void refuse(const std::string& field, const std::string& value, const std::string& message);

  const std::vector<Part>& parts_;
  std::vector<bool> used_;
  std::vector<Finding>& findings_;
  std::vector<SentFile> files_;
};

}  // namespace omnirt::serve
