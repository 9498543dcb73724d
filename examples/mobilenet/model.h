/* The network bound to memory, with its optimiser: what is trained, saved and loaded. */
#ifndef MOBILENET_MODEL_H
#define MOBILENET_MODEL_H

#include "examples/mobilenet/options.h"
#include "src/graph/executor.h"

struct model;

/* Builds, binds and initialises. */
convop_status model_create(struct model **model, const struct options *options);
void model_destroy(struct model **model);

/* The tensors that a batch goes into, and the probabilities that come out. */
DLTensor *model_images(struct model *model);
DLTensor *model_labels(struct model *model);
const DLTensor *model_probabilities(struct model *model);

convop_status model_forward(struct model *model, int is_train);
convop_status model_backward(struct model *model);

/* SGD with momentum on every parameter; weight decay on weights alone. */
convop_status model_update(struct model *model, double lr);

/* PREFIX-0012.params (parameters, running statistics) and PREFIX-0012.states (momenta). */
convop_status model_save(struct model *model, const char *prefix, int epoch);
/* Momenta are 0 where there is no file of states. */
convop_status model_load(struct model *model, const char *prefix, int epoch);

#endif
