#pragma once
// What nearly every test reads, compiled once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/aten_pch.hpp"
