/* A shared object that is no plug-in. */
extern const int nothing;
const int nothing = 0;
