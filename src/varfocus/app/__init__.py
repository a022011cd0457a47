"""The page: see, probe and steer a reconstruction in the browser of this machine."""
