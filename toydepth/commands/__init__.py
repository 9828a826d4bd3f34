"""What the commands share: their command line, Hydra, folders, launchers, the terminal."""
