// Which instruction set runs, which others could, and the switch between them.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bind.hpp"
#include "dispatch.hpp"

namespace varfocus {
namespace bind {
namespace {

std::vector<std::string> names(bool all) {
    std::vector<std::string> found;
    for (int i = 0; i < instruction_set_count(); ++i) {
        if (all || instruction_set(i).runs_here) found.push_back(instruction_set(i).name);
    }
    return found;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

void use_instruction_set(const std::string& name) {
    for (int i = 0; i < instruction_set_count(); ++i) {
        const InstructionSet set = instruction_set(i);
        if (name == set.name && set.runs_here) return choose_instruction_set(i);
    }
    refuse("instruction set '" + name + "'",
           "one that was compiled and that this machine has: " + joined(names(false)));
}

}  // namespace

void define_instruction_sets(nb::module_& m) {
    m.def("compiled_instruction_sets", [] { return names(true); },
          "Names of all sets that the kernels were compiled for, from narrow to wide.");
    m.def("instruction_sets", [] { return names(false); },
          "Names of those that this machine has.");
    m.def("instruction_set", [] { return instruction_set(chosen_instruction_set()).name; },
          "Name of the one in use; at first the widest.");
    m.def("lanes", [] { return instruction_set(chosen_instruction_set()).lanes; },
          "Floats that a register of it holds.");
    m.def("use_instruction_set", &use_instruction_set, "name"_a,
          "Change it for the whole process; not while a kernel runs.");
}

}  // namespace bind
}  // namespace varfocus
