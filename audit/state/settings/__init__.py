"""Every setting that the files of a snapshot state, each at a path of its own, without any set-up."""
