#include "request/fingerprint.hpp"

#include <algorithm>

#include "base/remembered.hpp"
#include "io/file_pieces.hpp"
#include "io/file_state.hpp"
#include "io/sha256.hpp"
#include "io/sharded.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

void add_file(io::Sha256& sha, const fs::path& file) {
  // Pieces are small and many: a run that writes an image must not feel it, and what distinguishes
  // two checkpoints is how many places are sampled.
  constexpr size_t whole = size_t{128} << 10, piece = 512, pieces = 256;
  io::FilePieces pieces_of(file);
  const size_t size = pieces_of.bytes();
  sha.add_counted(std::to_string(size));
  if (size <= whole) return sha.add(pieces_of.read(0, size));
  auto at = [&](size_t i) { return (size - piece) / pieces * i; };
  for (size_t i = 1; i <= pieces; ++i) pieces_of.expect(at(i), piece);
  sha.add(pieces_of.read(0, whole));
  for (size_t i = 1; i <= pieces; ++i) sha.add(pieces_of.read(at(i), piece));
}

// The files that say what a tokenizer does.
std::vector<fs::path> small_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string extension = entry.path().extension().string();
    bool counts = extension == ".json" || extension == ".txt" || extension == ".model";
    if (counts && entry.is_regular_file(error)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// Of a checkpoint of one file, and of an IP-Adapter, `folder` is the file.
std::vector<fs::path> weight_files(const nn::NetworkInfo& info, const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder, error)) return {folder};
  std::vector<fs::path> files;
  auto opened = io::TensorFiles::open(folder, std::span(&info.weights_base, 1));
  for (const auto& file : opened.files()) files.push_back(file->path());
  return files;
}

// "" where its files cannot be read: loading the component says what is wrong with them.
std::string hash_component(const nn::NetworkInfo* info, const ComponentFolder& component,
                           const std::string& config) {
  io::Sha256 sha;
  sha.add_counted(component.class_name);
  sha.add_counted(config);
  try {
    for (const fs::path& file :
         info ? weight_files(*info, component.folder) : small_files(component.folder)) {
      if (!info) sha.add_counted(file.filename().string());
      add_file(sha, file);
    }
  } catch (const InvalidRequest&) {
    return "";
  }
  return sha.hex();
}

// A server's runs ask again for each image, and hashing takes longer than a step of a small model.
Remembered<std::string>& known_fingerprints() {
  static Remembered<std::string> known(256);
  return known;
}

}  // namespace

std::string fingerprint_of_file(const fs::path& file) {
  io::Sha256 sha;
  add_file(sha, file);
  return sha.hex();
}

std::string fingerprint_of(const Catalogue& catalogue, const ComponentFolder& component) {
  const nn::NetworkInfo* info = catalogue.find_network(component.class_name);
  const std::string config = component.config.dump();
  const std::string state = io::files_state(component.folder);
  if (state.empty()) return hash_component(info, component, config);
  // Which files count is the network's to say.
  const std::string key = std::string(info ? info->weights_base : "") + "\n" +
                          component.folder.native() + "\n" + component.class_name + "\n" + config +
                          "\n" + state;
  if (auto known = known_fingerprints().find(key)) return *known;
  std::string made = hash_component(info, component, config);
  known_fingerprints().keep(key, made);
  return made;
}

}  // namespace omnirt
