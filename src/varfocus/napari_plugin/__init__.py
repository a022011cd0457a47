"""The napari plugin; ``napari.yaml`` lists what it contributes."""
