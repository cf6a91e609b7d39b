"""The promise *person*: what each unit adds, a private level, a joint clip, Gaussian noise."""
