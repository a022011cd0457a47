// Which instruction sets the kernels were compiled for, and which of them this machine has.
#pragma once

namespace varfocus {

struct InstructionSet {
    const char* name;
    int lanes;       // floats per register
    bool runs_here;  // whether this processor and its system have it
};

// All that were compiled, from narrow to wide.
int instruction_set_count();
InstructionSet instruction_set(int number);

// The one in use: at first the widest that runs here. Not to be changed while a kernel runs.
int chosen_instruction_set();
void choose_instruction_set(int number);

}  // namespace varfocus
