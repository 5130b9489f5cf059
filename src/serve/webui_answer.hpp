#pragma once
#include <string>
#include <vector>

#include "base/json.hpp"
#include "serve/dispatcher.hpp"
#include "serve/webui.hpp"

namespace omnirt::serve {

// {images, parameters, info}: `job` is a result with its data, `infotexts` the generation
// parameters that its images carry. Throws HttpRefusal where an image is too large to be in the
// answer.
Json webui_result(const WebuiRequest& request, const Json& job,
                  const std::vector<std::string>& infotexts);
// {progress, eta_relative, state, current_image, textinfo} of a client's first unfinished job, of
// `jobs`; of none without `view`. `preview`: base64, or "".
Json webui_progress(const JobView* view, size_t jobs, const std::string& preview);

}  // namespace omnirt::serve
