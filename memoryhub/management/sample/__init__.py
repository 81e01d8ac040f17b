"""Interface layer, the sample: real changes and a few invented messages, set up once and sent as agents would."""
