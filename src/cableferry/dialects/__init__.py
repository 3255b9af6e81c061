"""HTTP to the engine and back, one file or folder per contract."""
