/* The built-in operators, the only central list. No guard: it is included for each use. */
CVP_BUILTIN_OP(Convolution)
CVP_BUILTIN_OP(_backward_Convolution)
