#pragma once
#include <string>

#include "base/keys.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::keys {

inline constexpr Key<bool> clean_caption{
    "clean_caption",
    false,
    {},
    "clean-caption",
    "rewrite prompts as captions of the web are cleaned; not implemented: prompts are lower-cased "
    "and stripped, as the reference does where the packages that it cleans with are missing"};

}  // namespace omnirt::keys

namespace omnirt::blocks {

// A prompt as PixArt's and Sana's text encoders are given it: in lower case, without white space at
// its ends (reference: _text_preprocessing without clean_caption). What is not UTF-8 stays as it
// is.
std::string as_caption(const std::string& prompt);

// A finding where a request asks for more than that.
void refuse_clean_caption(Checks& checks, const Config<bool>& clean_caption);

}  // namespace omnirt::blocks
