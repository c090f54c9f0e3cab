"""One file in, one flight out: aircraft files loaded, checked and built."""
