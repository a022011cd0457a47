// The table of this instruction set.

#include "set.hpp"

namespace varfocus {
namespace VARFOCUS_SET {

void enter_admm(Kernels& table);
void enter_cells(Kernels& table);
void enter_closest(Kernels& table);
void enter_cosine(Kernels& table);
void enter_edges(Kernels& table);
void enter_energy(Kernels& table);
void enter_explain(Kernels& table);
void enter_fill(Kernels& table);
void enter_filters(Kernels& table);
void enter_front(Kernels& table);
void enter_fusion(Kernels& table);
void enter_tgv(Kernels& table);
void enter_likelihood(Kernels& table);
void enter_margin(Kernels& table);
void enter_primal_dual(Kernels& table);
void enter_regions(Kernels& table);
void enter_scales(Kernels& table);
void enter_semi_global(Kernels& table);
void enter_templates(Kernels& table);
void enter_volume(Kernels& table);
void enter_warp(Kernels& table);

void enter_all(Kernels& table) {
    enter_admm(table);
    enter_cells(table);
    enter_closest(table);
    enter_cosine(table);
    enter_edges(table);
    enter_energy(table);
    enter_explain(table);
    enter_fill(table);
    enter_filters(table);
    enter_front(table);
    enter_fusion(table);
    enter_tgv(table);
    enter_likelihood(table);
    enter_margin(table);
    enter_primal_dual(table);
    enter_regions(table);
    enter_scales(table);
    enter_semi_global(table);
    enter_templates(table);
    enter_volume(table);
    enter_warp(table);
}

}  // namespace VARFOCUS_SET
}  // namespace varfocus
