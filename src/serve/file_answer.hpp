#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "serve/http.hpp"

namespace omnirt::serve {

// The media type of a file that a run left, by its name: an image, a video, or
// "application/octet-stream". Whoever wrote the job's record has no say in it.
const char* media_type_of_file(std::string_view name);

// A file as the answer to a request: whole, or the part that a GET asks for by Range (206, or 416
// outside of the file) unless If-Range names another file; 304 where If-None-Match names this one.
// `tag` is the file's own, whose bytes never change. Throws InvalidFile where it cannot be opened.
HttpResponse file_answer(const HttpRequest& request, const std::filesystem::path& path,
                         const std::string& tag);

}  // namespace omnirt::serve
