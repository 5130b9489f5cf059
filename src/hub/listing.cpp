#include "hub/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/whole_number.hpp"
#include "hub/proxy.hpp"
#include "io/utf8.hpp"

namespace omnirt::hub {
namespace {

constexpr size_t max_name_bytes = 255;  // of a file or folder, as file systems have it
constexpr size_t max_path_bytes = 1024;
constexpr size_t max_id_bytes = 96;  // huggingface_hub's validate_repo_id
constexpr size_t commit_digits = 40, sha256_digits = 64;
constexpr int64_t max_file_bytes = int64_t{1} << 44;

bool is_hex(std::string_view text, size_t digits) {
  auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == digits && std::ranges::all_of(text, hex);
}

bool plain(unsigned char c) {
  return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
}

bool is_repository_part(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, plain) && !part.starts_with('.') &&
         !part.starts_with('-') && !part.ends_with('.') && !part.ends_with('-') &&
         part.find("--") == part.npos && part.find("..") == part.npos;
}

// Whether it names something in the folder that it is taken below, on any file system.
bool is_path_below(std::string_view path) {
  if (path.empty() || path.size() > max_path_bytes || path.back() == '/') return false;
  while (!path.empty()) {
    std::string_view part = path.substr(0, path.find('/'));
    auto harmless = [](unsigned char c) { return c >= ' ' && c != 0x7f && c != '\\'; };
    if (part.empty() || part == "." || part == ".." || part.size() > max_name_bytes ||
        !std::ranges::all_of(part, harmless))
      return false;
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return true;
}

class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  Listing read(const Json& answer) const {
    if (!answer.is_object() || !answer.contains("siblings") || !answer["siblings"].is_array())
      refuse("siblings", "", "the hub's answer holds no list of files");
    Listing listing;
    listing.commit = text_of(answer, "sha");
    if (!is_hex(listing.commit, commit_digits)) refuse("sha", listing.commit, "not a commit");
    if (answer["siblings"].size() > max_listed_files)
      refuse("siblings", fmt::to_string(answer["siblings"].size()),
             fmt::format("more than {} files", max_listed_files));
    std::set<std::string> seen;
    for (const Json& sibling : answer["siblings"]) {
      listing.files.push_back(file_of(sibling));
      if (!seen.insert(listing.files.back().path).second)
        refuse("rfilename", listing.files.back().path, "listed twice");
    }
    return listing;
  }

 private:
  [[noreturn]] void refuse(const char* field, const std::string& value, std::string message) const {
    throw InvalidFile({fmt::format("{}: {}", where_, field), io::shown_name(value),
                       std::move(message), "check HF_ENDPOINT, which names the hub"});
  }

  std::string text_of(const Json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key) || !object[key].is_string())
      refuse(key, "", "missing from the hub's answer, or no text");
    return object[key].get<std::string>();
  }

  RemoteFile file_of(const Json& sibling) const {
    RemoteFile file;
    file.path = text_of(sibling, "rfilename");
    if (!is_path_below(file.path))
      refuse("rfilename", file.path, "a path that leads out of the repository, or is none");
    const auto bytes = whole_number(sibling.value("size", Json()), 0, max_file_bytes);
    if (!bytes) refuse("size", file.path, "the file has no size");
    file.bytes = static_cast<uint64_t>(*bytes);
    file.large = sibling.contains("lfs") && sibling["lfs"].is_object();
    file.blob = file.large ? text_of(sibling["lfs"], "sha256") : text_of(sibling, "blobId");
    if (!is_hex(file.blob, file.large ? sha256_digits : commit_digits))
      refuse(file.large ? "sha256" : "blobId", file.path, "the file has no digest");
    return file;
  }

  std::string where_;
};

}  // namespace

void check_repository(const std::string& field, const std::string& id) {
  size_t slash = id.find('/');
  bool good = id.size() <= max_id_bytes && std::ranges::count(id, '/') <= 1 &&
              is_repository_part(std::string_view(id).substr(0, slash)) &&
              (slash == id.npos || is_repository_part(std::string_view(id).substr(slash + 1)));
  if (!good)
    throw InvalidRequest({field, id, "not a repository of the hub",
                          "give organisation/name, as on the repository's page"});
}

void check_revision(const std::string& revision) {
  auto legal = [](unsigned char c) { return plain(c) || c == '/'; };
  if (std::ranges::all_of(revision, legal) && revision.size() <= max_name_bytes &&
      is_path_below(revision))
    return;
  throw InvalidRequest({"--revision", revision, "not a branch, tag or commit",
                        "give one of those that the repository's page lists, or leave it out"});
}

const RemoteFile* Listing::find(std::string_view path) const {
  auto it = std::ranges::find(files, path, &RemoteFile::path);
  return it == files.end() ? nullptr : &*it;
}

std::vector<std::string> Listing::names_in(const std::string& folder) const {
  const std::string head = folder.empty() ? "" : folder + "/";
  std::vector<std::string> names;
  for (const RemoteFile& file : files) {
    if (!file.path.starts_with(head)) continue;
    std::string name = file.path.substr(head.size());
    if (name.find('/') == name.npos) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

// Networks that want a login first, and some proxies, answer with a page of their own.
void refuse_page(std::string_view text, const std::string& where) {
  const size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == text.npos || text[first] != '<') return;
  const auto proxy = proxy_of(where);
  throw InvalidFile(
      {where, "", fmt::format("{} answers with a web page instead of JSON", host_of(where)),
       proxy ? fmt::format("check the proxy {} ({}), or add the host to NO_PROXY", proxy->address,
                           proxy->variable)
             : "log in to the network first if it asks for it in a browser; or check HF_ENDPOINT, "
               "which names the hub"});
}

Listing parse_listing(std::string_view text, const std::string& where) {
  refuse_page(text, where);
  return Reader(where).read(parse_json(text, where, max_listing_bytes));
}

std::string percent_encoded(std::string_view path) {
  std::string out;
  for (unsigned char c : path) {
    if (plain(c) || c == '~' || c == '/')
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02X}", c);
  }
  return out;
}

}  // namespace omnirt::hub
