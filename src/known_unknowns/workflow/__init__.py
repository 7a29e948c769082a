"""What the Snakefile's rules compute: the checked configuration, file lists and rerun digests."""
