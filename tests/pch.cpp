// The translation unit that tests/pch.hpp is compiled for.
