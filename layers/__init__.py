"""What functions share on Lambda: our own package (`core`) and the packages it stands on."""
