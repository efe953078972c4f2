"""Numbers recomputed from raw telemetry: each with its formula, its inputs and where they stand."""
