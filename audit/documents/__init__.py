"""The typed documents that leave the program, and the words they are made of."""
