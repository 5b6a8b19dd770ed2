// An NVRTC that is too old, as far as a loader can see.
extern "C" int nvrtcVersion(int *major, int *minor) { return *major = 11, *minor = 8, 0; }
