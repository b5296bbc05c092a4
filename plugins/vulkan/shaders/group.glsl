// The three forms of a shader that goes over rows, written once. A work-item does a row, or a work-group does: IS_shared if its
// members combine what they found in shared memory, IS_subgroup if subgroups do that first.
//
// EACH_ROW loops over the rows as EACH does, EACH_OF over the elements of a row that are this member's; group_...() combine. All
// members of a work-group reach every group_...(), since they meet there. NaN wins group_max() and group_min().
#if defined(IS_shared) || defined(IS_subgroup)
#define IS_GROUP
#define IS_FIRST (gl_LocalInvocationIndex == 0u)
#define EACH_ROW(i, count, row, rows)                                                              \
  for (int row = int(gl_WorkGroupID.y); row < (rows); row += int(gl_NumWorkGroups.y))              \
    for (int i = int(gl_WorkGroupID.x); i < (count); i += int(gl_NumWorkGroups.x))
#define EACH_OF(k, count) for (int k = int(gl_LocalInvocationIndex); k < (count); k += int(gl_WorkGroupSize.x))

const uint MOST_MEMBERS = 256;  // as in kernels/common/rows.cc
shared float numbers_of_members[MOST_MEMBERS];
shared uint words_of_members[MOST_MEMBERS];

#if defined(IS_shared)
// The size of the work-group is a power of two. The last barrier is for the next writer.
#define COMBINE(name, type, members, within_subgroup, both)                              \
  type name(type v) {                                                                    \
    const uint me = gl_LocalInvocationIndex;                                             \
    members[me] = v;                                                                     \
    barrier();                                                                           \
    for (uint rest = gl_WorkGroupSize.x / 2u; rest > 0u; rest /= 2u) {                   \
      if (me < rest) {                                                                   \
        const type a = members[me], b = members[me + rest];                              \
        members[me] = both;                                                              \
      }                                                                                  \
      barrier();                                                                         \
    }                                                                                    \
    const type out_ = members[0];                                                        \
    barrier();                                                                           \
    return out_;                                                                         \
  }
#else
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
// For subgroups of any size, down to one member.
#define COMBINE(name, type, members, within_subgroup, both)                              \
  type name(type v) {                                                                    \
    const type of_subgroup = within_subgroup(v);                                         \
    if (gl_NumSubgroups == 1u) return of_subgroup;                                       \
    if (subgroupElect()) members[gl_SubgroupID] = of_subgroup;                           \
    barrier();                                                                           \
    type out_ = members[0];                                                              \
    for (uint n = 1u; n < gl_NumSubgroups; ++n) {                                        \
      const type a = out_, b = members[n];                                               \
      out_ = both;                                                                       \
    }                                                                                    \
    barrier();                                                                           \
    return out_;                                                                         \
  }
#endif
COMBINE(group_sum, float, numbers_of_members, subgroupAdd, a + b)
COMBINE(group_product, float, numbers_of_members, subgroupMul, a * b)
COMBINE(group_most, uint, words_of_members, subgroupMax, max(a, b))
COMBINE(group_least, uint, words_of_members, subgroupMin, min(a, b))

// Words in the order of the numbers. Maxima of floats may drop NaN; those of words cannot. `nan`: where it stands.
uint word_in_order(float v, uint nan) {
  const uint bits = floatBitsToUint(v);
  return isnan(v) ? nan : (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}
float number_in_order(uint word) {
  return uintBitsToFloat((word & 0x80000000u) != 0u ? word & 0x7fffffffu : ~word);
}
float group_max(float v) { return number_in_order(group_most(word_in_order(v, 0xffc00000u))); }
float group_min(float v) { return number_in_order(group_least(word_in_order(v, 0x003fffffu))); }
#else
#define IS_FIRST true
#define EACH_ROW(i, count, row, rows) EACH(i, count, row, rows)
#define EACH_OF(k, count) for (int k = 0; k < (count); ++k)
#define group_sum(v) (v)
#define group_product(v) (v)
#define group_most(v) (v)
#define group_least(v) (v)
#define group_max(v) (v)
#define group_min(v) (v)
#endif
