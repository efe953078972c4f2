"""A stateful fake of the Hugging Face hub's HTTP API, checked against the hub's own client in `tests/lock`."""
