#include "request/validated_request.hpp"

#include <algorithm>
#include <set>

#include "io/file_state.hpp"

namespace omnirt {
namespace {

namespace fs = std::filesystem;

std::set<fs::path> files_of(const Proposal& proposal) {
  std::set<fs::path> files{proposal.folder.path};
  for (const auto& [name, component] : proposal.folder.components) {
    files.insert(component.folder);
    if (!component.config_file.empty()) files.insert(component.config_file);
  }
  for (const AdapterChoice& adapter : proposal.adapters) files.insert(adapter.file->path);
  return files;
}

}  // namespace

ValidatedRequest::ValidatedRequest(const Proposal& proposal, const GenerateRequest& request,
                                   const ValidateOptions& options)
    : proposal_(proposal), request_(request), options_(options) {
  for (const fs::path& file : files_of(proposal)) files_.emplace_back(file, io::files_state(file));
}

// A state to continue from is read as a whole by the validation.
const Proposal* ValidatedRequest::find(const GenerateRequest& request,
                                       ValidateOptions options) const {
  options.validated = options_.validated;
  if (proposal_.resumed || request != request_ || options != options_) return nullptr;
  const bool unchanged = std::ranges::all_of(files_, [](const auto& file) {
    return !file.second.empty() && io::files_state(file.first) == file.second;
  });
  return unchanged ? &proposal_ : nullptr;
}

}  // namespace omnirt
