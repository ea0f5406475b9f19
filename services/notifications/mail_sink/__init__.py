"""The mail sink: an SMTP server for the demo that accepts every e-mail and writes down what it accepted."""
