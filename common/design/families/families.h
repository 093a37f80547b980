// The families, and what a configuration says of each.
#pragma once

#include <string>

#include "common/design/coupling_config.h"
#include "common/design/family.h"

namespace bandana {

// A linear model of features: of every coupling of users.
const Family& LinearFamily();

// d arms without features, the unit vectors.
const Family& ArmsFamily();
void ParseArmsFamily(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                     const FieldChecks& checks);
std::string ArmsWords(const ModelSpec& spec);

// One sparse parameter of many features.
const Family& SparseFamily();
void ParseSparseFamily(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                       const FieldChecks& checks);
std::string SparseWords(const ModelSpec& spec);

// Effects of users, their groups and arms.
const Family& EffectsFamily();
void ParseEffectsFamily(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                        const FieldChecks& checks);
std::string EffectsWords(const ModelSpec& spec);
// A configuration that was stored with what it leaves open filled in. One of a version that did not
// fill it in says nothing of weights, and has none.
v1::ModelConfig WithDefaultsOfBefore(v1::ModelConfig config);

// Continuous actions.
const Family& PointsFamily();
void ParsePointsFamily(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                       const FieldChecks& checks);
std::string PointsWords(const ModelSpec& spec);

}  // namespace bandana
