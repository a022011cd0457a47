// The extension module varfocus.engine._kernels: its kernels, by topic, and the numbers that Python
// shares with them.

#include "bind.hpp"

NB_MODULE(_kernels, m) {
    m.doc() = "The compiled kernels; arrays must be contiguous, and outputs are written in place.";
    m.attr("BATCH") = varfocus::BATCH;
    m.attr("COMPACT_LOWEST") = varfocus::COMPACT_LOWEST;
    m.attr("LABEL_PADDING") = varfocus::LABEL_PADDING;
    m.attr("LARGEST_FACTOR") = varfocus::LARGEST_FACTOR;
    m.attr("MOST_THREADS") = varfocus::MOST_THREADS;
    m.attr("NO_LABEL") = varfocus::NO_LABEL;
    m.attr("WIDEST_WINDOW") = varfocus::WIDEST_WINDOW;
    m.attr("WINDOW") = varfocus::WINDOW;
    varfocus::bind::define_instruction_sets(m);
    varfocus::bind::define_front(m);
    varfocus::bind::define_solvers(m);
    varfocus::bind::define_search(m);
    varfocus::bind::define_fusion(m);
    varfocus::bind::define_align(m);
    varfocus::bind::define_edges(m);
    varfocus::bind::define_explain(m);
}
