"""Facts: what one file says, with its line. One extractor per kind of file; a fact never looks at another file."""
