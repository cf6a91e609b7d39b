"""The verbs that people call: calibrate, certify, privatize, compare; and Session."""
