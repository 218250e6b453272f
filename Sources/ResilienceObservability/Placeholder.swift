// Replaced by what comes.
