"""From a certificate to an answer: the draw, one release, a conversation. Trusted."""
