#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "pipeline/value_codec.hpp"

namespace omnirt {

// A run that was stopped between two blocks: all that another process needs to continue it.
struct SavedRun {
  struct Value {
    std::string condition;  // "" : shared
    std::string name;
    std::string type;  // its codec's
    SavedValue saved;
  };
  struct Component {
    std::string class_name;
    std::string fingerprint;  // fingerprint_of; "" where its files were not there
    Json config;
  };

  std::string version;                         // of the program that wrote it
  Json record;                                 // the request as settled (Proposal::record)
  std::map<std::string, std::string> origins;  // of its config values
  std::map<std::string, std::string> files;    // inputs that are files: their fingerprints
  std::string model_path;                      // where the model was
  std::vector<std::string> workflow;           // the blocks of the whole run
  std::string after;                           // the last of them that ran
  std::map<std::string, Component> components;
  std::vector<Value> values;
};

// This program's version, as a state names it: two that differ may use different layouts.
std::string saved_run_version();

// One safetensors file: the values' tensors, and all else as JSON in its metadata with a digest
// over everything. Written whole or not at all (AtomicFile). Throws as write_safetensors.
void write_saved_run(const std::filesystem::path& file, const SavedRun& run);
// Whether the file says that it is one.
bool is_saved_run(const io::SafetensorsFile& file);
// Throws InvalidFile naming the file when it is no such file, damaged, or inconsistent. All sizes
// are checked against the file's before memory is taken.
SavedRun read_saved_run(const std::filesystem::path& file);

}  // namespace omnirt
