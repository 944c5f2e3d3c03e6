"""What all servers share: access, headers, limits, failures, starting and stopping, the frame of pages."""
