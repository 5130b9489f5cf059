#pragma once
#include <string>
#include <string_view>

namespace omnirt {

// Whether a text is a URL ("https://...", "data:image/png;base64,..."), and no path.
bool is_url(std::string_view text);

// Nothing is read from the network: throws InvalidRequest where `given`, which names a file or
// folder as `field`, is a URL. One of the Hugging Face Hub is answered with the repository.
void refuse_url(const std::string& field, const std::string& given);

}  // namespace omnirt
