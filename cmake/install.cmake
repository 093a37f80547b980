# Install rules; see the README.
