// Generated: bandana-tables blt >common/mechanisms/counters/blt_tables.cc && clang-format -i
// common/mechanisms/counters/blt_tables.cc. A few minutes. Units of 2^-52.
#include "common/mechanisms/counters/blt_tables.h"

namespace bandana {
namespace {

// Largest V_t up to the design horizon: 10.662703.
constexpr std::int64_t kDecay1000[] = {3543914174965, 50870028060335, 356102326474327,
                                       1977896657430111};
constexpr std::int64_t kWeight1000[] = {169035754082534, 312548574704693, 722053907302024,
                                        1033850375114696};
constexpr std::int64_t kInverseDecay1000[] = {16737681660134, 137574193623605, 881538363825581,
                                              3590051298234366};

// Largest V_t up to the design horizon: 15.989731.
constexpr std::int64_t kDecay10000[] = {366809314986, 5501958152052, 42551802191410,
                                        309635517870440, 1871157447720372};
constexpr std::int64_t kWeight10000[] = {54625912464826, 106869936161595, 278447480715419,
                                         704865768203255, 1087584266418642};
constexpr std::int64_t kInverseDecay10000[] = {1758666296991, 15513658095546, 115652118616576,
                                               798387502601263, 3530294953602621};

// Largest V_t up to the design horizon: 22.433605.
constexpr std::int64_t kDecay100000[] = {44866735361, 876608568244, 10602371409873, 124876272936171,
                                         1285761102530195};
constexpr std::int64_t kWeight100000[] = {19587605355228, 50656062161788, 171798392657475,
                                          574487341933311, 1354714772223247};
constexpr std::int64_t kInverseDecay100000[] = {236258636221, 3069317211637, 36521201493715,
                                                416866762227987, 3136711856941333};

// Largest V_t up to the design horizon: 30.101472.
constexpr std::int64_t kDecay1000000[] = {5533045237, 144983445433, 2733300085550, 50970093248838,
                                          866088762350511};
constexpr std::int64_t kWeight1000000[] = {7085406640497, 23893975234611, 102944594638924,
                                           439834123660264, 1481179536355630};
constexpr std::int64_t kInverseDecay1000000[] = {32574053191, 631523090161, 11824000692924,
                                                 216575153602950, 2745817057266270};

// Largest V_t up to the design horizon: 38.653429.
constexpr std::int64_t kDecay10000000[] = {526139982,     12852676482,    219201698151,
                                           3710295076421, 62408180496771, 948633954707987};
constexpr std::int64_t kWeight10000000[] = {2168718890778,   6891683254377,   28184973178040,
                                            115877995004271, 469054900756527, 1463824275388871};
constexpr std::int64_t kInverseDecay10000000[] = {
    3012965646, 53273355449, 902020846280, 15247290523177, 251319060518655, 2833462899059451};

constexpr BltTable kTables[] = {
    {1000, kDecay1000, kWeight1000, kInverseDecay1000},
    {10000, kDecay10000, kWeight10000, kInverseDecay10000},
    {100000, kDecay100000, kWeight100000, kInverseDecay100000},
    {1000000, kDecay1000000, kWeight1000000, kInverseDecay1000000},
    {10000000, kDecay10000000, kWeight10000000, kInverseDecay10000000},
};

}  // namespace

std::span<const BltTable> BltTables() { return kTables; }

}  // namespace bandana
